-- rotate_webhook_secret: sign with another secret. With p_keep_old both sign until the next call without it, so that the endpoint can change
-- over whenever it likes.
create or replace function reaper.rotate_webhook_secret(p_name text, p_secret_env text, p_keep_old boolean default true)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_webhook reaper.webhooks := reaper_internal.require_webhook(p_name);
begin
    perform reaper_internal.require_secret_env(p_secret_env);
    if p_secret_env is null then
        raise exception sqlstate 'RP005' using
            message = 'p_secret_env must not be null',
            hint    = 'Name the variable that holds the new secret; a webhook without signatures is removed and added anew.';
    end if;
    update reaper.webhooks w
       set secret_env          = p_secret_env,
           previous_secret_env = case when not coalesce(p_keep_old, true) then null
                                      when w.secret_env = p_secret_env then w.previous_secret_env
                                      else w.secret_env end,
           held_until = case when w.held_reason is null then w.held_until end,
           held_reason = null
     where w.webhook_id = v_webhook.webhook_id;
    perform reaper_internal.record_audit('rotate_webhook_secret', 'webhook:' || p_name, null, p_secret_env);
end;
$$;
comment on function reaper.rotate_webhook_secret(text, text, boolean) is
    'Lets deliveries be signed with the secret in the variable p_secret_env; with p_keep_old they bear a signature of the former secret too. Call it again with p_keep_old => false when the endpoint has changed over. Audited.';
revoke all on function reaper.rotate_webhook_secret(text, text, boolean) from public;
grant execute on function reaper.rotate_webhook_secret(text, text, boolean) to reaper_ops;
