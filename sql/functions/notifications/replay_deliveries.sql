-- replay_deliveries: send events again, or at last: those that were given up, and delivered ones that are still kept. They keep their ids, so
-- an endpoint that has had one knows it. Their three days begin anew, and the lane is opened.
create or replace function reaper.replay_deliveries(
    p_name            text,
    p_since           timestamptz default null,
    p_until           timestamptz default null,
    p_event_ids       uuid[]      default null,
    p_dlq_only        boolean     default false,
    p_settled_before  timestamptz default null,
    p_limit           integer     default 1000,
    p_reason          text        default null
)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_now      timestamptz     := reaper.clock();
    v_webhook  reaper.webhooks := reaper_internal.require_webhook(p_name);
    v_number   integer;
    v_rows     integer         := 0;
begin
    perform reaper_internal.require_limit(p_limit);
    if p_since is null and p_until is null and p_event_ids is null and p_dlq_only is not true then
        raise exception sqlstate 'RP005' using
            message = 'nothing was chosen to replay',
            hint    = 'Give p_since, p_until (when the events happened), p_event_ids, or p_dlq_only => true for all that was given up.';
    end if;
    with chosen as (
        delete from reaper.delivery_dlq d
         where d.outbox_id = any (array(
            select c.outbox_id
              from reaper.delivery_dlq c
             where c.webhook_id = v_webhook.webhook_id
               and (p_since is null or c.occurred_at >= p_since) and (p_until is null or c.occurred_at < p_until)
               and (p_event_ids is null or c.event_id = any (p_event_ids))
               and (p_settled_before is null or c.buried_at <= p_settled_before)
             order by c.outbox_id
             limit p_limit))
        returning d.*
    )
    insert into reaper.notification_outbox (
        outbox_id, webhook_id, event_id, type, subject, data, occurred_at, queued_at, next_attempt, last_status, last_error)
    overriding system value
    select c.outbox_id, c.webhook_id, c.event_id, c.type, c.subject, c.data, c.occurred_at, v_now, v_now, c.last_status, c.last_error
      from chosen c;
    get diagnostics v_number = row_count;
    if p_dlq_only is not true and v_number < p_limit then
        update reaper.notification_outbox o
           set delivered_at = null, attempts = 0, first_attempt_at = null, queued_at = v_now, next_attempt = v_now
         where o.outbox_id = any (array(
            select c.outbox_id
              from reaper.notification_outbox c
             where c.webhook_id = v_webhook.webhook_id and c.delivered_at is not null
               and (p_since is null or c.occurred_at >= p_since) and (p_until is null or c.occurred_at < p_until)
               and (p_event_ids is null or c.event_id = any (p_event_ids))
               and (p_settled_before is null or c.delivered_at <= p_settled_before)
             order by c.outbox_id
             limit p_limit - v_number));
        get diagnostics v_rows = row_count;
    end if;
    v_number := v_number + v_rows;
    if v_number > 0 then
        update reaper.webhooks w
           set failures = 0, failing_since = null, held_until = null, held_reason = null
         where w.webhook_id = v_webhook.webhook_id;
        perform reaper_internal.record_audit('replay_deliveries', 'webhook:' || p_name, p_reason, format('%s events', v_number));
    end if;
    return v_number;
end;
$$;
comment on function reaper.replay_deliveries(text, timestamptz, timestamptz, uuid[], boolean, timestamptz, integer, text) is
    'Queues up to p_limit events of a webhook for delivery again: from the DLQ, and unless p_dlq_only also delivered ones. Filters: when they happened (p_since inclusive, p_until exclusive), event ids; p_settled_before: only those delivered or given up by then, so that a loop of calls ends. Returns how many; call it until it returns 0. Audited.';
revoke all on function reaper.replay_deliveries(text, timestamptz, timestamptz, uuid[], boolean, timestamptz, integer, text) from public;
grant execute on function reaper.replay_deliveries(text, timestamptz, timestamptz, uuid[], boolean, timestamptz, integer, text) to reaper_ops;
