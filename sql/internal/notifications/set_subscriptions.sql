-- set_subscriptions: write down of which events a webhook is told: those that it names while it is enabled, else none.
create or replace function reaper_internal.set_subscriptions(p_webhook reaper.webhooks)
    returns void
    language sql volatile
as $$
    delete from reaper.webhook_subscriptions s where s.webhook_id = p_webhook.webhook_id;
    insert into reaper.webhook_subscriptions (pattern, webhook_id)
    select e.pattern, p_webhook.webhook_id from unnest(p_webhook.events) as e (pattern) where p_webhook.enabled;
$$;
comment on function reaper_internal.set_subscriptions(reaper.webhooks) is
    'Subscribes a webhook to its events if it is enabled, else to none.';
revoke all on function reaper_internal.set_subscriptions(reaper.webhooks) from public;
