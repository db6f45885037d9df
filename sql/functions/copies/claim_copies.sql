-- claim_copies: hand out copies to make, most endangered contents first. Each gets an intent with a fresh random key and room reserved, which
-- is committed before the first byte is sent; all of a call share one lease. What fits nowhere, or cannot be read now, is postponed, so that
-- it delays no other content. While more than half of the backends fail nothing is handed out.
-- Order of locks: wants (skipping those that are held), then backends by name; contents are not locked, commit_copy judges again.
create or replace function reaper.claim_copies(p_limit integer default 100)
    returns table (
        intent_id uuid, lease uuid, content_hash text, size_bytes bigint, sha256 boolean, purpose text,
        sources text[], source_keys text[], destination text, object_key text, verify boolean
    )
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
#variable_conflict use_column
declare
    v_now     timestamptz := reaper.clock();
    v_lease   uuid        := gen_random_uuid();
    v_hashes  text[];
    v_ready   text[];
    v_names   text[];
    v_rooms   numeric[];
    v_left    integer     := p_limit;
    v_looked  integer     := 0;
    v_made    integer;
begin
    perform reaper_internal.require_read_committed();
    perform reaper_internal.require_limit(p_limit);
    if not exists (select from reaper.copy_wants w) or reaper_internal.most_backends_fail() then
        return;
    end if;
    lock table reaper.bindings in access share mode;
    perform reaper_internal.commit_durably();
    -- Each round looks at wants that were not seen before: all that it sees are postponed or deleted.
    while v_left > 0 and v_looked < 10 * p_limit loop
        v_hashes := reaper_internal.lock_due_wants(v_left, v_now);
        exit when v_hashes = '{}';
        v_looked := v_looked + cardinality(v_hashes);
        v_ready := reaper_internal.postpone_wants(v_hashes, v_now);
        if v_ready = '{}' then
            continue;
        end if;
        if v_names is null then
            select p_names, p_rooms into v_names, v_rooms from reaper_internal.lock_places();
        end if;
        select m.made, m.rooms into v_made, v_rooms
          from reaper_internal.begin_copies(v_ready, v_names, v_rooms, v_lease, v_now) as m;
        v_left := v_left - v_made;
    end loop;
    return query select * from reaper_internal.leased_copies(v_lease, v_now);
end;
$$;
comment on function reaper.claim_copies(integer) is
    'Makes up to p_limit intents of copies, the most endangered contents first, and leases them for two minutes (extend_copies extends): read from the first of sources that has the right bytes, store under object_key on destination, '
    'then call commit_copy or fail_copy. sha256: content_hash is the SHA-256 to compare; verify: the stored object is to be compared; size_bytes null = unknown. RP006 outside read committed.';
revoke all on function reaper.claim_copies(integer) from public;
grant execute on function reaper.claim_copies(integer) to reaper_worker, reaper_ops;
