-- finish_invalidations: settle a lease of cache entries. Failed ones are retried without limit: once Redis is back it could serve them.
create or replace function reaper.finish_invalidations(p_lease uuid, p_failed jsonb)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_now   timestamptz := reaper.clock();
    v_held  text[];
    v_gone  integer;
begin
    perform reaper_internal.require_report(p_failed);
    -- In order: a late caller locks codes that were leased again before it sees that its lease is lost.
    v_held := array(select i.short_code from reaper.invalidations i where i.lease = p_lease order by i.short_code for update);
    -- A new statement, after the locks: a code that was queued again while this waited has left the lease, and the next lease settles it.
    -- A code that is queued no more was settled by another lease, or is not one of ours: in doubt nothing is settled.
    perform reaper_internal.require_lease(
        v_held,
        array(select f.failure ->> 'short_code'
                from jsonb_array_elements(p_failed) as f (failure)
               where not exists (select from reaper.invalidations i
                                  where i.short_code = f.failure ->> 'short_code' and i.lease is distinct from p_lease)),
        p_lease,
        p_lost_a_part => true);
    if p_failed is null then
        update reaper.invalidations i set lease = null, next_attempt = v_now where i.lease = p_lease;
        return 0;
    end if;

    update reaper.invalidations i
       set lease        = null,
           attempts     = i.attempts + 1,
           last_error   = left(f.failure ->> 'error', 1000),
           next_attempt = v_now + least(reaper_internal.retry_pause(i.attempts + 1), interval '10 minutes')
      from jsonb_array_elements(p_failed) as f (failure)
     where i.lease = p_lease and i.short_code = f.failure ->> 'short_code';

    delete from reaper.invalidations i where i.lease = p_lease;
    get diagnostics v_gone = row_count;
    return v_gone;
end;
$$;
comment on function reaper.finish_invalidations(uuid, jsonb) is
    'Settles the codes of a lease: [] = all cache entries were deleted, else the failures in the format of finish_batch; null = no deletion was tried. RP001 if the lease is no longer held, or a reported code is queued no more: then nothing is settled, and the codes are due again when the lease expires. Returns how many were deleted.';
revoke all on function reaper.finish_invalidations(uuid, jsonb) from public;
grant execute on function reaper.finish_invalidations(uuid, jsonb) to reaper_worker, reaper_ops;
