-- Creates the table of what writers are about to store: the intent comes before the upload, so that bytes that were never committed
-- are found and removed.
-- locks: none on existing tables
-- depends: 0010.owed-deletions
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

comment on table reaper.put_intents is 'Puts that were begun and not yet committed or aborted. The pending reaper resolves those older than settings.intent_min_age.';
comment on column reaper.put_intents.intent_id is 'What begin_put returned.';
comment on column reaper.put_intents.short_code is 'The paste that is to be.';
comment on column reaper.put_intents.content_hash is 'Its content.';
comment on column reaper.put_intents.size_bytes is 'Its bytes.';
comment on column reaper.put_intents.expires_at is 'When it is to expire; null = never.';
comment on column reaper.put_intents.backend is 'Where the bytes go.';
comment on column reaper.put_intents.object_key is 'Under which name; nobody else has it.';
comment on column reaper.put_intents.upload_required is 'Whether the content was absent when the put began.';
comment on column reaper.put_intents.reserved is 'Whether its bytes are reserved under the backend''s quota.';
comment on column reaper.put_intents.begun_at is 'When it began.';
comment on column reaper.put_intents.attempts is 'How often the pending reaper could not resolve it.';
comment on column reaper.put_intents.last_error is 'Why not.';
comment on column reaper.put_intents.next_attempt is 'The pending reaper leaves it alone until then.';
comment on column reaper.put_intents.lease is 'The fencing token of whoever resolves it now.';
