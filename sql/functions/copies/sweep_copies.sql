-- sweep_copies: look at one window of content, in hash order, and enter what has too few copies, or too many. A full pass at most once an hour
-- and at once when what it depends on has changed; with one copy of each content and nothing to drain only the latter.
-- One pass at a time: a second caller finds the cursor locked and has nothing to do. While 100,000 wants are due it waits for the copies.
create or replace function reaper.sweep_copies(p_limit integer default 10000)
    returns table (looked_at integer, wanted integer, complete boolean)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_hashjoin = on
    set enable_mergejoin = off
    set jit = off
as $$
#variable_conflict use_column
declare
    v_now     timestamptz := reaper.clock();
    v_sweep   reaper.copy_sweep;
    v_hashes  text[];
    v_wanted  integer;
begin
    perform reaper_internal.require_limit(p_limit);
    -- bind() and unbind() take this table first, and wait for this transaction: without it they could deadlock over the two views.
    lock table reaper.bindings in access share mode;
    select * into v_sweep from reaper.copy_sweep w for update skip locked;
    if v_sweep is null or not reaper_internal.begin_sweep(v_sweep, v_now) then
        -- Not at each window: to know that backend default is empty, all content may have to be read.
        if v_sweep is not null then
            perform reaper_internal.emit_drained();
        end if;
        return query select 0, 0, true;
        return;
    end if;
    select * into v_sweep from reaper.copy_sweep w;

    v_hashes := array(select c.content_hash
                        from reaper.content c
                       where c.content_hash > v_sweep.after_hash
                       order by c.content_hash
                       limit p_limit);
    v_wanted := reaper_internal.record_needs(v_hashes, v_now);
    update reaper.copy_sweep w
       set after_hash  = coalesce(v_hashes[cardinality(v_hashes)], w.after_hash),
           finished_at = case when cardinality(v_hashes) < p_limit then v_now end,
           looked_at   = w.looked_at + cardinality(v_hashes),
           wanted      = w.wanted + v_wanted;
    if cardinality(v_hashes) < p_limit then
        perform reaper_internal.emit_stuck();
        perform reaper_internal.emit_drained();
    end if;
    return query select cardinality(v_hashes), v_wanted, cardinality(v_hashes) < p_limit;
end;
$$;
comment on function reaper.sweep_copies(integer) is
    'Looks at up to p_limit contents for copies that are too few or too many; returns how many were looked at, how many of them need a copy, and whether there is nothing more to look at now. Call it until complete.';
revoke all on function reaper.sweep_copies(integer) from public;
grant execute on function reaper.sweep_copies(integer) to reaper_worker, reaper_ops;
