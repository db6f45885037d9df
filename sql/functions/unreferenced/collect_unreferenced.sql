-- collect_unreferenced: check the next page of contents and delete those that no paste names, by the same path as a drop: their rows in
-- this transaction, their objects by an ownerless RELEASED batch, which the next worker adopts.
-- Content rows are locked FOR UPDATE in hash order, skipping locked ones, and only a new statement after that checks whether a paste names
-- them: a paste that is being inserted holds a lock on its content row.
create or replace function reaper.collect_unreferenced(p_limit integer default 1000, p_older_than interval default '7 days')
    returns table (looked_at integer, collected integer, refused integer)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_now      timestamptz := reaper.clock();
    v_before   timestamptz := v_now - p_older_than;
    v_after    text;
    v_page     text[];
    v_hashes   text[];
    v_gone     record;
    v_objects  reaper.released_objects;
begin
    perform reaper_internal.require_read_committed();
    perform reaper_internal.require_limit(p_limit);
    perform reaper_internal.require_age(p_older_than);
    perform reaper_internal.require_binding();
    perform reaper_internal.commit_durably();
    set constraints all immediate;

    select s.after into v_after from reaper.unreferenced_scan s for update;
    v_page := array(select c.content_hash from reaper.content c where c.content_hash > v_after order by c.content_hash limit p_limit);

    v_hashes := (reaper_internal.lock_contents(reaper_internal.unreferenced_among(v_page, v_before), false)).hashes;
    v_hashes := reaper_internal.unreferenced_among(v_hashes, v_before);
    select * into v_gone from reaper_internal.delete_unreferenced(v_hashes, v_now);
    v_objects := reaper_internal.release_objects(v_gone.object_hashes, v_gone.object_keys, v_gone.object_sizes, v_now);
    perform reaper_internal.require_kept_rights();

    insert into reaper.batches (
        batch_id, state, short_codes, object_hashes, object_backends, object_keys, object_sizes,
        rows_claimed, claimed_at, held_since, released_at)
    select gen_random_uuid(), 'RELEASED', '{}', v_objects.hashes, v_objects.backends, v_objects.keys, v_objects.sizes,
           0, v_now, v_now, v_now
     where v_objects.hashes <> '{}';

    update reaper.unreferenced_scan s
       set after = case when cardinality(v_page) = p_limit then v_page[p_limit] else '' end;
    return query select cardinality(v_page), cardinality(v_gone.object_hashes), v_gone.refused;
end;
$$;
comment on function reaper.collect_unreferenced(integer, interval) is
    'Checks the next p_limit contents and deletes those that no paste names and that are older than p_older_than; the next worker deletes their objects. '
    'Returns how many it checked, deleted, and left because another table names them; fewer checked than p_limit = the pass is complete. RP006 outside read committed, RP010 if the binding does not hold.';
revoke all on function reaper.collect_unreferenced(integer, interval) from public;
grant execute on function reaper.collect_unreferenced(integer, interval) to reaper_worker, reaper_ops;
