-- finish_cleanup: settle a lease, in one transaction. Deleted objects leave the queue and the byte account, and their retired names may be
-- used again. Refused objects wait longer each time; the tenth refusal, or a permanent one, moves them to the DLQ with the cause. An
-- outage of the backend is not counted as an attempt.
create or replace function reaper.finish_cleanup(p_lease uuid, p_failed jsonb)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_now    timestamptz := reaper.clock();
    v_held   text[];
    v_until  timestamptz;
    v_gone   integer;
begin
    perform reaper_internal.require_report(p_failed);
    select array_agg(h.name), min(h.next_attempt)
      into v_held, v_until
      from (select q.backend || '/' || q.object_key as name, q.next_attempt
              from reaper.cleanup_queue q
             where q.lease = p_lease
             -- In order: a late caller locks rows that were leased again before it sees that its lease is lost.
             order by q.queue_id
               for update) as h;
    -- The lease may have run out while this waited for a row, so the clock is read again.
    perform reaper_internal.require_lease(
        v_held, array(select f.backend || '/' || f.object_key from reaper_internal.failed_objects(p_failed) as f), p_lease, v_until <= reaper.clock());
    if p_failed is null then
        update reaper.cleanup_queue q set lease = null, next_attempt = v_now where q.lease = p_lease;
        return 0;
    end if;

    v_gone := reaper_internal.finish_deleted(p_lease, p_failed, v_now);
    perform reaper_internal.move_to_dlq(p_lease, p_failed, v_now);
    perform reaper_internal.postpone_failed(p_lease, p_failed, v_now);
    return v_gone;
end;
$$;
comment on function reaper.finish_cleanup(uuid, jsonb) is
    'Settles the objects of a lease: [] = all were deleted, else the failures in the format of finish_batch; null = no deletion was tried. '
    'RP001 if the lease is no longer held, RP005 for keys that are not in it. Returns how many were deleted.';
revoke all on function reaper.finish_cleanup(uuid, jsonb) from public;
grant execute on function reaper.finish_cleanup(uuid, jsonb) to reaper_worker, reaper_ops;
