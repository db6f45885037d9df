-- remove_webhook: forget a webhook and all that waits for it. A row that a transaction which is still running has queued for it is pruned.
create or replace function reaper.remove_webhook(p_name text)
    returns bigint
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_webhook  reaper.webhooks := reaper_internal.require_webhook(p_name);
    v_waiting  bigint;
begin
    delete from reaper.webhook_subscriptions s where s.webhook_id = v_webhook.webhook_id;
    delete from reaper.notification_outbox o where o.webhook_id = v_webhook.webhook_id and o.delivered_at is null;
    get diagnostics v_waiting = row_count;
    delete from reaper.notification_outbox o where o.webhook_id = v_webhook.webhook_id;
    delete from reaper.delivery_dlq d where d.webhook_id = v_webhook.webhook_id;
    delete from reaper.webhooks w where w.webhook_id = v_webhook.webhook_id;
    perform reaper_internal.record_audit('remove_webhook', 'webhook:' || p_name, null, format('%s undelivered', v_waiting));
    return v_waiting;
end;
$$;
comment on function reaper.remove_webhook(text) is
    'Removes a webhook, the events that wait for it and those that were given up; returns how many were waiting. Audited.';
revoke all on function reaper.remove_webhook(text) from public;
grant execute on function reaper.remove_webhook(text) to reaper_ops;
