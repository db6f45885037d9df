-- webhook_to_test: what a test of a webhook needs; it may be disabled. Nothing is recorded of a test.
create or replace function reaper.webhook_to_test(p_name text)
    returns table (
        url text, secret_env text, previous_secret_env text, source uuid, event_id uuid, type text, subject text, data jsonb, occurred_at timestamptz
    )
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select w.url, w.secret_env, w.previous_secret_env, i.installation_id, gen_random_uuid(), 'webhook.test', w.name,
           jsonb_build_object('webhook', w.name), reaper.clock()
      from reaper.webhooks w
     cross join reaper.installation i
     where w.name = p_name;
$$;
comment on function reaper.webhook_to_test(text) is
    'The webhook of that name, and an event webhook.test to send to it; no row if there is none.';
revoke all on function reaper.webhook_to_test(text) from public;
grant execute on function reaper.webhook_to_test(text) to reaper_ops;
