-- Creates the tables of notifications: webhooks, the outbox that deciding transactions write to, the DLQ of deliveries, and the states that
-- were told last.
-- locks: none on existing tables
-- depends: 0016.usage
create table if not exists reaper.webhooks (
    webhook_id           bigint      generated always as identity primary key,
    name                 text collate "C" not null constraint webhooks_name unique constraint webhooks_name_check
                                     check (name ~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$'),
    url                  text        not null,
    events               text[]      not null,
    secret_env           text,
    previous_secret_env  text,
    enabled              boolean     not null default true,
    disabled_reason      text,
    created_by           name        not null,
    created_at           timestamptz not null,
    failures             integer     not null default 0,
    failing_since        timestamptz,
    held_until           timestamptz,
    held_reason          text,
    last_error           text,
    last_delivered_at    timestamptz
) with (fillfactor = 50);

create table if not exists reaper.webhook_subscriptions (
    pattern     text collate "C" not null,
    webhook_id  bigint not null,
    primary key (pattern, webhook_id)
);

-- No foreign key: it would lock the webhook's row in every deciding transaction. Rows of a removed webhook are pruned; its id is not reused.
create table if not exists reaper.notification_outbox (
    outbox_id         bigint      generated always as identity primary key,
    webhook_id        bigint      not null,
    event_id          uuid        not null,
    type              text        not null,
    subject           text,
    data              jsonb       not null,
    occurred_at       timestamptz not null,
    queued_at         timestamptz not null,
    attempts          integer     not null default 0,
    first_attempt_at  timestamptz,
    next_attempt      timestamptz not null,
    lease             uuid,
    last_status       integer,
    last_error        text,
    delivered_at      timestamptz
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, fillfactor = 80);
-- A lane reads its webhook's undelivered rows in the order of their ids.
create index if not exists notification_outbox_lane on reaper.notification_outbox (webhook_id, outbox_id) where delivered_at is null;
-- Holds only what is being sent: whether a lane is busy, and the rows of a lease.
create index if not exists notification_outbox_lease on reaper.notification_outbox (webhook_id, lease) where lease is not null;
create index if not exists notification_outbox_delivered on reaper.notification_outbox (delivered_at) where delivered_at is not null;
create index if not exists notification_outbox_occurred on reaper.notification_outbox (webhook_id, occurred_at);

create table if not exists reaper.delivery_dlq (
    outbox_id         bigint      not null primary key,
    webhook_id        bigint      not null,
    event_id          uuid        not null,
    type              text        not null,
    subject           text,
    data              jsonb       not null,
    occurred_at       timestamptz not null,
    attempts          integer     not null,
    last_status       integer,
    last_error        text,
    buried_at         timestamptz not null
);
create index if not exists delivery_dlq_webhook on reaper.delivery_dlq (webhook_id, occurred_at);
create index if not exists delivery_dlq_buried on reaper.delivery_dlq (buried_at);

create table if not exists reaper.notified_states (
    type        text collate "C" not null,
    subject     text collate "C" not null,
    state       text        not null,
    changed_at  timestamptz not null,
    primary key (type, subject)
) with (fillfactor = 50);

grant select on reaper.webhooks to reaper_ops;

comment on table reaper.webhooks is
    'Endpoints that are told of events, and the state of each one''s lane. Changed by add_webhook(), enable_webhook(), disable_webhook(), rotate_webhook_secret() and remove_webhook().';
comment on column reaper.webhooks.webhook_id is 'Number of the webhook; never reused.';
comment on column reaper.webhooks.name is 'Name of the webhook.';
comment on column reaper.webhooks.url is 'Address to which events are sent with POST.';
comment on column reaper.webhooks.events is 'Events that it is told of: names such as drain.finished, or patterns such as circuit.* and *.';
comment on column reaper.webhooks.secret_env is
    'Name of the environment variable, in the processes that deliver, that holds the secret of the signatures; null = unsigned.';
comment on column reaper.webhooks.previous_secret_env is
    'Name of the variable of the secret that is being replaced: while it is set, deliveries bear a signature of each secret.';
comment on column reaper.webhooks.enabled is 'Whether events are recorded for it and delivered.';
comment on column reaper.webhooks.disabled_reason is 'Why it was disabled; null while it is enabled.';
comment on column reaper.webhooks.created_by is 'Login that added it (session_user).';
comment on column reaper.webhooks.created_at is 'When it was added.';
comment on column reaper.webhooks.failures is 'Number of failed attempts since the last delivery that succeeded.';
comment on column reaper.webhooks.failing_since is 'When the first of these failed; null = the last attempt succeeded.';
comment on column reaper.webhooks.held_until is 'Nothing is sent before this time; null = the lane is open.';
comment on column reaper.webhooks.held_reason is 'Why nothing could be sent, where that counts as no attempt: a secret that is missing, an address that is refused.';
comment on column reaper.webhooks.last_error is 'Error of the last failed attempt.';
comment on column reaper.webhooks.last_delivered_at is 'When the last delivery succeeded.';
comment on table reaper.webhook_subscriptions is
    'Which enabled webhook is told of which events; follows reaper.webhooks.events. emit() looks here, so that events without subscribers cost one index look-up.';
comment on column reaper.webhook_subscriptions.pattern is 'Event name, or a pattern such as circuit.* or *.';
comment on column reaper.webhook_subscriptions.webhook_id is 'Number of the webhook.';
comment on table reaper.notification_outbox is
    'Events to deliver: one row per webhook, written by the transaction in which the event happened. Delivered rows are kept for seven days, for replay_deliveries().';
comment on column reaper.notification_outbox.outbox_id is 'Number of the row; deliveries to a webhook follow it as far as retries allow.';
comment on column reaper.notification_outbox.webhook_id is 'Number of the webhook.';
comment on column reaper.notification_outbox.event_id is 'Identity of the event, the same for all webhooks and in every attempt.';
comment on column reaper.notification_outbox.type is 'Name of the event, without io.reaper.';
comment on column reaper.notification_outbox.subject is 'What the event is about.';
comment on column reaper.notification_outbox.data is 'Data of the event; its JSON schema is in the package.';
comment on column reaper.notification_outbox.occurred_at is 'When the event happened.';
comment on column reaper.notification_outbox.queued_at is 'When the row was queued for delivery: when the event happened, or its replay.';
comment on column reaper.notification_outbox.attempts is 'Number of attempts, with the one that succeeded.';
comment on column reaper.notification_outbox.first_attempt_at is 'When the first of these attempts ended; three days later the last one is made.';
comment on column reaper.notification_outbox.next_attempt is 'Earliest time of the next attempt; while leased, when the lease expires.';
comment on column reaper.notification_outbox.lease is 'Fencing token of the lease under which the row is being sent; finish_deliveries() needs it.';
comment on column reaper.notification_outbox.last_status is 'HTTP status of the last answer; null = there was none.';
comment on column reaper.notification_outbox.last_error is 'Error of the last attempt.';
comment on column reaper.notification_outbox.delivered_at is 'When the endpoint accepted the event; null = not yet.';
comment on table reaper.delivery_dlq is
    'DLQ of notifications: events that a webhook did not accept within three days. replay_deliveries() queues them again; they are kept for ninety days.';
comment on column reaper.delivery_dlq.outbox_id is 'Number that the row had in notification_outbox.';
comment on column reaper.delivery_dlq.webhook_id is 'Number of the webhook.';
comment on column reaper.delivery_dlq.event_id is 'Identity of the event.';
comment on column reaper.delivery_dlq.type is 'Name of the event, without io.reaper.';
comment on column reaper.delivery_dlq.subject is 'What the event is about.';
comment on column reaper.delivery_dlq.data is 'Data of the event.';
comment on column reaper.delivery_dlq.occurred_at is 'When the event happened.';
comment on column reaper.delivery_dlq.attempts is 'Number of failed attempts.';
comment on column reaper.delivery_dlq.last_status is 'HTTP status of the last answer; null = there was none.';
comment on column reaper.delivery_dlq.last_error is 'Error of the last attempt.';
comment on column reaper.delivery_dlq.buried_at is 'When the row was moved to the DLQ.';
comment on table reaper.notified_states is
    'The state of which webhooks were told last, for events that tell of a change: the verdict, backends that are nearly full.';
comment on column reaper.notified_states.type is 'Name of the event, without io.reaper.';
comment on column reaper.notified_states.subject is 'What the state belongs to.';
comment on column reaper.notified_states.state is 'The state.';
comment on column reaper.notified_states.changed_at is 'When it was last told.';
