-- add_webhook: tell an endpoint of events from now on. No secret is given here: only the name of the variable that holds it where deliveries
-- are sent.
create or replace function reaper.add_webhook(p_name text, p_url text, p_events text[], p_secret_env text default null)
    returns bigint
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_events   text[] := reaper_internal.require_events(p_events);
    v_webhook  reaper.webhooks;
begin
    perform reaper_internal.require_webhook_url(p_url);
    perform reaper_internal.require_secret_env(p_secret_env);
    if p_name is null or p_name !~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$' then
        raise exception sqlstate 'RP005' using
            message = format('invalid name of a webhook: %s', coalesce(quote_literal(p_name), 'null')),
            hint    = 'Begin with a letter; letters, digits, dots, dashes and underscores may follow, up to 63 in all.';
    end if;
    if (select count(*) >= 100 from reaper.webhooks) then
        raise exception sqlstate 'RP005' using
            message = 'there are 100 webhooks already',
            hint    = 'Remove one (reaper webhook list), or let one endpoint pass events on.';
    end if;
    insert into reaper.webhooks (name, url, events, secret_env, created_by, created_at)
    values (p_name, p_url, v_events, p_secret_env, session_user, reaper.clock())
        on conflict (name) do nothing
    returning * into v_webhook;
    if not found then
        raise exception sqlstate 'RP005' using
            message = format('a webhook named %s exists', p_name),
            hint    = format('Choose another name, or remove that one first: select reaper.remove_webhook(%L);', p_name);
    end if;
    perform reaper_internal.set_subscriptions(v_webhook);
    perform reaper_internal.record_audit('add_webhook', 'webhook:' || p_name, null, array_to_string(v_events, ', '));
    return v_webhook.webhook_id;
end;
$$;
comment on function reaper.add_webhook(text, text, text[], text) is
    'Adds a webhook: events that match p_events (names such as drain.finished, circuit.*, or *) are sent to p_url with POST, signed with the secret in the environment variable p_secret_env of the processes that deliver; null = unsigned. RP005 for addresses with a user name or password, for odd schemes, and for variables AWS_* and REAPER_*. Returns its number. Audited.';
revoke all on function reaper.add_webhook(text, text, text[], text) from public;
grant execute on function reaper.add_webhook(text, text, text[], text) to reaper_ops;
