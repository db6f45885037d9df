-- webhook_reasons: webhooks that a person must look at: disabled by their endpoint, held, failing for an hour, or with events that were given up.
create or replace function reaper_internal.webhook_reasons(p_now timestamptz)
    returns setof text
    language sql stable
as $$
    select format('webhook %s is disabled: %s. Remove the cause, then run reaper webhook enable %s; or reaper webhook remove %s', w.name, w.disabled_reason, w.name, w.name)
      from reaper.webhooks w
     where not w.enabled and w.disabled_reason like 'the endpoint answered 410%'
    union all
    select format('webhook %s is held: %s. Its events wait; run reaper webhook test %s to see whether it works', w.name, rtrim(w.held_reason, '.'), w.name)
      from reaper.webhooks w
     where w.enabled and w.held_reason is not null
    union all
    select format('webhook %s fails since %s: %s. Run reaper webhook test %s', w.name, reaper_internal.moment(w.failing_since), left(w.last_error, 200), w.name)
      from reaper.webhooks w
     where w.enabled and w.failing_since <= p_now - interval '1 hour'
    union all
    select format('%s for webhook %s were given up. Remove the cause, then run reaper webhook replay %s --dlq',
                  reaper_internal.counted(d.number, 'event'), w.name, w.name)
      from reaper.webhooks w
     cross join lateral (select count(*) as number
                           from (select from reaper.delivery_dlq l where l.webhook_id = w.webhook_id limit 100000) as l) as d
     where d.number > 0;
$$;
comment on function reaper_internal.webhook_reasons(timestamptz) is
    'For attention_reasons: webhooks that are disabled by their endpoint, held or failing, and events that were given up.';
revoke all on function reaper_internal.webhook_reasons(timestamptz) from public;
