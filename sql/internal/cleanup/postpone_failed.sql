-- postpone_failed: set when failed objects are tried again. A refusal is counted and waits longer each time. An outage is not counted;
-- behind an open circuit it is due at once, because claims skip the backend until its circuit closes.
create or replace function reaper_internal.postpone_failed(p_lease uuid, p_failed jsonb, p_now timestamptz)
    returns void
    language sql volatile
    set enable_seqscan = off
    set jit = off
as $$
    update reaper.cleanup_queue q
       set lease        = null,
           last_error   = f.error,
           attempts     = q.attempts + case when f.outage then 0 else 1 end,
           outages      = q.outages + case when f.outage then 1 else 0 end,
           next_attempt = p_now + case when not f.outage then reaper_internal.retry_pause(q.attempts + 1)
                                       when c.state <> 'closed' then interval '0'
                                       else reaper_internal.retry_pause(1) end
      from reaper_internal.failed_objects(p_failed) as f
      left join reaper.circuits c on c.backend = f.backend
     where q.lease = p_lease and f.backend = q.backend and f.object_key = q.object_key;
$$;
comment on function reaper_internal.postpone_failed(uuid, jsonb, timestamptz) is
    'For finish_cleanup: sets when the failed objects are tried again, and counts the attempts that were not outages.';
revoke all on function reaper_internal.postpone_failed(uuid, jsonb, timestamptz) from public;
