-- due_webhooks: the lanes in which something can be sent now. In a copy of a database (a restored dump) there is none: events of the original
-- must not be told twice, nor a test installation's be told as the original's.
create or replace function reaper.due_webhooks()
    returns table (webhook_id bigint, name text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    with now as materialized (
        select reaper.clock() as at
    )
    select w.webhook_id, w.name
      from reaper.webhooks w
     cross join now n
     where w.enabled
       and coalesce(w.held_until <= n.at, true)
       and (select i.is_recorded_here from reaper.installation_identity() as i)
       and exists (select from reaper.notification_outbox o
                    where o.webhook_id = w.webhook_id and o.delivered_at is null and o.next_attempt <= n.at)
     order by w.webhook_id;
$$;
comment on function reaper.due_webhooks() is
    'Enabled webhooks with an event to send now. None in a copy of a database, until record_take_over() or renew_installation().';
revoke all on function reaper.due_webhooks() from public;
grant execute on function reaper.due_webhooks() to reaper_worker, reaper_ops;
