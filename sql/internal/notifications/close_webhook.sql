-- close_webhook: disable a webhook. What waits for it stays, for enable_webhook(); what happens meanwhile is not recorded for it.
-- The other webhooks are told in the same transaction.
create or replace function reaper_internal.close_webhook(p_webhook_id bigint, p_reason text)
    returns void
    language plpgsql volatile
as $$
declare
    v_webhook reaper.webhooks;
begin
    update reaper.webhooks w
       set enabled = false, disabled_reason = p_reason, held_until = null, held_reason = null
     where w.webhook_id = p_webhook_id and w.enabled
    returning w.* into v_webhook;
    if found then
        perform reaper_internal.set_subscriptions(v_webhook);
        perform reaper_internal.emit('webhook.disabled', v_webhook.name, jsonb_build_object('webhook', v_webhook.name, 'reason', p_reason));
    end if;
end;
$$;
comment on function reaper_internal.close_webhook(bigint, text) is
    'For finish_deliveries and disable_webhook: disables a webhook and emits webhook.disabled.';
revoke all on function reaper_internal.close_webhook(bigint, text) from public;
