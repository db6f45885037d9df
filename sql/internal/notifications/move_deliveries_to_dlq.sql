-- move_deliveries_to_dlq: give up rows whose three days are over: those whose first attempt was so long ago, and, where nothing was delivered
-- for three days, all that are as old. One statement, so that no crash finds a row in both tables or in neither.
create or replace function reaper_internal.move_deliveries_to_dlq(p_webhook reaper.webhooks, p_tried bigint[], p_now timestamptz)
    returns integer
    language plpgsql volatile
as $$
declare
    v_moved integer;
begin
    with chosen as materialized (
        select o.outbox_id
          from reaper.notification_outbox o
         where o.outbox_id = any (p_tried) and o.lease is null and o.delivered_at is null and o.first_attempt_at <= p_now - interval '3 days'
        union
        (select o.outbox_id
           from reaper.notification_outbox o
          where o.webhook_id = p_webhook.webhook_id and o.delivered_at is null and o.lease is null
            and o.queued_at <= p_now - interval '3 days'
            and p_webhook.failing_since <= p_now - interval '3 days'
          order by o.outbox_id
          limit 10000)
    ), gone as (
        delete from reaper.notification_outbox o using chosen c where o.outbox_id = c.outbox_id and o.lease is null
        returning o.*
    )
    insert into reaper.delivery_dlq (
        outbox_id, webhook_id, event_id, type, subject, data, occurred_at, attempts, last_status, last_error, buried_at)
    select g.outbox_id, g.webhook_id, g.event_id, g.type, g.subject, g.data, g.occurred_at, g.attempts, g.last_status,
           coalesce(g.last_error, p_webhook.last_error), p_now
      from gone g;
    get diagnostics v_moved = row_count;
    return v_moved;
end;
$$;
comment on function reaper_internal.move_deliveries_to_dlq(reaper.webhooks, bigint[], timestamptz) is
    'For finish_deliveries: moves deliveries that failed for three days to delivery_dlq; returns how many.';
revoke all on function reaper_internal.move_deliveries_to_dlq(reaper.webhooks, bigint[], timestamptz) from public;
