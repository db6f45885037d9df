-- postpone_deliveries: record failed attempts. A row that the endpoint refused waits longer each time while others go before it; where the
-- endpoint itself is in trouble (outage) the whole lane waits, so the row is due with it and the order is kept.
create or replace function reaper_internal.postpone_deliveries(p_failed jsonb, p_now timestamptz)
    returns void
    language sql volatile
as $$
    update reaper.notification_outbox o
       set lease            = null,
           attempts         = o.attempts + 1,
           first_attempt_at = coalesce(o.first_attempt_at, p_now),
           next_attempt     = case when f.outage then p_now else p_now + greatest(reaper_internal.delivery_pause(o.attempts + 1), f.wait) end,
           last_status      = f.status,
           last_error       = f.error
      from reaper_internal.delivery_results(p_failed) as f
     where o.outbox_id = f.outbox_id and f.error is not null;
$$;
comment on function reaper_internal.postpone_deliveries(jsonb, timestamptz) is
    'For finish_deliveries: records the failed attempts and when they are repeated.';
revoke all on function reaper_internal.postpone_deliveries(jsonb, timestamptz) from public;
