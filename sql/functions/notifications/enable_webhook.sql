-- enable_webhook: deliver again, at once: what waited, and what happens from now on. An enabled one is freed of its pause.
create or replace function reaper.enable_webhook(p_name text, p_reason text default null)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_webhook reaper.webhooks := reaper_internal.require_webhook(p_name);
begin
    update reaper.webhooks w
       set enabled = true, disabled_reason = null, failures = 0, failing_since = null, held_until = null, held_reason = null
     where w.webhook_id = v_webhook.webhook_id
    returning w.* into v_webhook;
    perform reaper_internal.set_subscriptions(v_webhook);
    perform reaper_internal.record_audit('enable_webhook', 'webhook:' || p_name, p_reason);
end;
$$;
comment on function reaper.enable_webhook(text, text) is
    'Enables a webhook, and ends the pause after its failures; events that happened while it was disabled are not delivered later. Audited.';
revoke all on function reaper.enable_webhook(text, text) from public;
grant execute on function reaper.enable_webhook(text, text) to reaper_ops;
