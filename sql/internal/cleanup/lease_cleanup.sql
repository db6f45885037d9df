-- lease_cleanup: lease the objects of one backend that are longest overdue, skipping rows that other transactions hold.
-- The plan is pinned: with a limit that it does not know, the planner would read the whole queue.
create or replace function reaper_internal.lease_cleanup(
    p_backend  text,
    p_limit    integer,
    p_due      timestamptz,
    p_lease    uuid,
    p_until    timestamptz
)
    returns setof reaper.cleanup_queue
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
begin
    return query
        update reaper.cleanup_queue q
           set lease = p_lease, next_attempt = p_until
         where q.queue_id = any (array(
            select d.queue_id
              from reaper.cleanup_queue d
             where d.backend = p_backend and d.next_attempt <= p_due
             order by d.next_attempt
             limit p_limit
               for update skip locked))
        returning q.*;
end;
$$;
comment on function reaper_internal.lease_cleanup(text, integer, timestamptz, uuid, timestamptz) is
    'For claim_cleanup: leases up to p_limit objects of a backend that are due by p_due, until p_until.';
revoke all on function reaper_internal.lease_cleanup(text, integer, timestamptz, uuid, timestamptz) from public;
