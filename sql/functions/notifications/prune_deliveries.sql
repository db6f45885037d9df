-- prune_deliveries: delete what is no longer of use, a bounded number of each: delivered rows after seven days, DLQ entries after ninety,
-- rows of webhooks that were removed. What waits for a disabled webhook goes to the DLQ after three days.
create or replace function reaper.prune_deliveries(p_limit integer default 1000)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_now     timestamptz := reaper.clock();
    v_pruned  integer := 0;
    v_rows    integer;
begin
    perform reaper_internal.require_limit(p_limit);
    delete from reaper.notification_outbox o
     where o.outbox_id = any (array(
        select c.outbox_id from reaper.notification_outbox c where c.delivered_at < v_now - interval '7 days' order by c.delivered_at limit p_limit));
    get diagnostics v_rows = row_count;
    v_pruned := v_pruned + v_rows;
    delete from reaper.delivery_dlq d
     where d.outbox_id = any (array(
        select c.outbox_id from reaper.delivery_dlq c where c.buried_at < v_now - interval '90 days' order by c.buried_at limit p_limit));
    get diagnostics v_rows = row_count;
    v_pruned := v_pruned + v_rows;
    delete from reaper.notification_outbox o
     where o.outbox_id = any (array(
        select c.outbox_id
          from reaper.notification_outbox c
         where not exists (select from reaper.webhooks w where w.webhook_id = c.webhook_id)
         limit p_limit));
    get diagnostics v_rows = row_count;
    v_pruned := v_pruned + v_rows;
    with gone as (
        delete from reaper.notification_outbox o
         where o.outbox_id = any (array(
            select c.outbox_id
              from reaper.webhooks w
              join reaper.notification_outbox c on c.webhook_id = w.webhook_id
             where not w.enabled and c.delivered_at is null and c.lease is null and c.queued_at < v_now - interval '3 days'
             order by c.outbox_id
             limit p_limit))
        returning o.*
    )
    insert into reaper.delivery_dlq (
        outbox_id, webhook_id, event_id, type, subject, data, occurred_at, attempts, last_status, last_error, buried_at)
    select g.outbox_id, g.webhook_id, g.event_id, g.type, g.subject, g.data, g.occurred_at, g.attempts, g.last_status,
           coalesce(g.last_error, 'the webhook is disabled'), v_now
      from gone g;
    get diagnostics v_rows = row_count;
    return v_pruned + v_rows;
end;
$$;
comment on function reaper.prune_deliveries(integer) is
    'Deletes up to p_limit each of delivered events after 7 days, DLQ entries after 90 days and rows of removed webhooks; moves events that have waited for a disabled webhook for 3 days to the DLQ. Returns how many rows; if it returns p_limit or more, call it again.';
revoke all on function reaper.prune_deliveries(integer) from public;
grant execute on function reaper.prune_deliveries(integer) to reaper_worker, reaper_ops;
