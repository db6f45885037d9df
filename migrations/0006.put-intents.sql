-- Creates the table of put intents: a writer records an intent before it uploads, so that bytes that were never committed can be found
-- and deleted.
-- locks: none on existing tables
-- depends: 0005.deletion-queues
create table if not exists reaper.put_intents (
    intent_id        uuid        not null primary key,
    short_code       text        not null,
    content_hash     text        not null,
    size_bytes       bigint      not null constraint put_intents_size_check check (size_bytes >= 0),
    expires_at       timestamptz,
    backend          text        collate "C" not null,
    object_key       text        collate "C" not null,
    upload_required  boolean     not null,
    reserved         boolean     not null,
    begun_at         timestamptz not null,
    attempts         integer     not null default 0,
    last_error       text,
    next_attempt     timestamptz not null,
    lease            uuid,
    constraint put_intents_object_key unique (backend, object_key)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
-- By backend, so that the pile of one that does not answer is never walked.
create index if not exists put_intents_due on reaper.put_intents (backend, next_attempt);

comment on table reaper.put_intents is
    'Puts that were begun and neither committed nor aborted. The pending reaper settles those older than settings.intent_min_age.';
comment on column reaper.put_intents.intent_id is 'Id that begin_put returned.';
comment on column reaper.put_intents.short_code is 'Code of the paste to create.';
comment on column reaper.put_intents.content_hash is 'Hash of its content.';
comment on column reaper.put_intents.size_bytes is 'Size of its content in bytes.';
comment on column reaper.put_intents.expires_at is 'When the paste is to expire; null = never.';
comment on column reaper.put_intents.backend is 'Backend to upload to.';
comment on column reaper.put_intents.object_key is 'Object key to upload to; used by this intent only.';
comment on column reaper.put_intents.upload_required is 'Whether the content did not exist when the put began.';
comment on column reaper.put_intents.reserved is 'Whether the bytes are reserved under the backend''s quota.';
comment on column reaper.put_intents.begun_at is 'When the put began.';
comment on column reaper.put_intents.attempts is 'How often the pending reaper failed to settle the intent.';
comment on column reaper.put_intents.last_error is 'Error of the last attempt to settle it.';
comment on column reaper.put_intents.next_attempt is 'Earliest time of the pending reaper''s next attempt.';
comment on column reaper.put_intents.lease is 'Fencing token of the lease under which the intent is being settled.';
