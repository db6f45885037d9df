-- webhook_lanes: what each webhook is told, what waits for it, and why it waits. Of the address only the host is shown: its path may be a secret.
create or replace view reaper.webhook_lanes as
    select w.name,
           substring(w.url from '^https?://[^/?]+') as endpoint,
           w.events,
           w.secret_env,
           w.previous_secret_env,
           w.enabled,
           w.disabled_reason,
           (select count(*) from (select from reaper.notification_outbox o
                                   where o.webhook_id = w.webhook_id and o.delivered_at is null limit 100000) as l) as waiting,
           (select o.occurred_at from reaper.notification_outbox o
             where o.webhook_id = w.webhook_id and o.delivered_at is null order by o.outbox_id limit 1) as oldest_waiting,
           (select count(*) from (select from reaper.delivery_dlq d where d.webhook_id = w.webhook_id limit 100000) as l) as given_up,
           w.failures,
           w.failing_since,
           w.held_until,
           w.held_reason,
           w.last_error,
           w.last_delivered_at
      from reaper.webhooks w
     order by w.name;
comment on view reaper.webhook_lanes is 'Every webhook: what it is told, what waits for it, and how its last deliveries ended.';
comment on column reaper.webhook_lanes.name is 'Name of the webhook.';
comment on column reaper.webhook_lanes.endpoint is 'Scheme, host and port of its address; the whole address is in reaper.webhooks.';
comment on column reaper.webhook_lanes.events is 'Events that it is told of, or patterns.';
comment on column reaper.webhook_lanes.secret_env is 'Variable that holds its secret; null = unsigned.';
comment on column reaper.webhook_lanes.previous_secret_env is 'Variable of the secret that is being replaced.';
comment on column reaper.webhook_lanes.enabled is 'Whether events are recorded for it and delivered.';
comment on column reaper.webhook_lanes.disabled_reason is 'Why it was disabled.';
comment on column reaper.webhook_lanes.waiting is 'Number of events not delivered yet; 100000 means at least that many.';
comment on column reaper.webhook_lanes.oldest_waiting is 'When the first of them happened.';
comment on column reaper.webhook_lanes.given_up is 'Number of its events in reaper.delivery_dlq; 100000 means at least that many.';
comment on column reaper.webhook_lanes.failures is 'Failed attempts since the last success.';
comment on column reaper.webhook_lanes.failing_since is 'When the first of these failed.';
comment on column reaper.webhook_lanes.held_until is 'Nothing is sent before this time.';
comment on column reaper.webhook_lanes.held_reason is 'Why nothing can be sent, where that is no failed attempt.';
comment on column reaper.webhook_lanes.last_error is 'Error of the last failed attempt.';
comment on column reaper.webhook_lanes.last_delivered_at is 'When the last delivery succeeded.';
revoke all on reaper.webhook_lanes from public;
grant select on reaper.webhook_lanes to reaper_worker, reaper_ops, reaper_ro;
