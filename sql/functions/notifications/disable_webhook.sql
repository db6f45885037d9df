-- disable_webhook: record and deliver nothing for a webhook until enable_webhook(). What waits stays for three days, then goes to the DLQ.
create or replace function reaper.disable_webhook(p_name text, p_reason text)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_webhook reaper.webhooks := reaper_internal.require_webhook(p_name);
begin
    perform reaper_internal.require_reason(p_reason);
    perform reaper_internal.close_webhook(v_webhook.webhook_id, p_reason);
    perform reaper_internal.record_audit('disable_webhook', 'webhook:' || p_name, p_reason);
end;
$$;
comment on function reaper.disable_webhook(text, text) is
    'Disables a webhook; the reason is kept and told to the other webhooks (webhook.disabled). Audited.';
revoke all on function reaper.disable_webhook(text, text) from public;
grant execute on function reaper.disable_webhook(text, text) to reaper_ops;
