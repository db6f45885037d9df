-- Creates the queues of what is still to be deleted outside PostgreSQL after its batch is settled: objects, cache entries, and names
-- that may not be used again yet. An orphan is a row in a queue, never an accident.
-- locks: none on existing tables
-- depends: 0009.workers-and-batches
create table if not exists reaper.cleanup_queue (
    queue_id      bigint      generated always as identity primary key,
    backend       text        not null,
    object_key    text        not null,
    content_hash  text,
    size_bytes    bigint,
    attempts      integer     not null default 0,
    outages       integer     not null default 0,
    passes_left   integer     not null default 1 constraint cleanup_queue_passes_left_check
                              check (passes_left between 1 and 2),
    last_error    text,
    queued_at     timestamptz not null,
    next_attempt  timestamptz not null,
    lease         uuid,
    constraint cleanup_queue_object_key unique (backend, object_key)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
-- By backend: the claim takes a fair share of each one's due rows, and never walks past the millions of one that does not answer.
create index if not exists cleanup_queue_due_by_backend on reaper.cleanup_queue (backend, next_attempt);
-- A lease is settled by its token, a group of dead letters by its cause; neither may read the whole table.
create index if not exists cleanup_queue_lease on reaper.cleanup_queue (lease) where lease is not null;

create table if not exists reaper.cleanup_dlq (
    queue_id      bigint      not null primary key,
    backend       text        not null,
    object_key    text        not null,
    content_hash  text,
    size_bytes    bigint,
    attempts      integer     not null,
    passes_left   integer     not null default 1 constraint cleanup_dlq_passes_left_check
                              check (passes_left between 1 and 2),
    cause         text        not null default 'other',
    last_error    text        not null,
    queued_at     timestamptz not null,
    buried_at     timestamptz not null,
    constraint cleanup_dlq_object_key unique (backend, object_key)
);
create index if not exists cleanup_dlq_cause on reaper.cleanup_dlq (backend, cause, queue_id);

create table if not exists reaper.invalidations (
    short_code    text        not null primary key,
    attempts      integer     not null default 0,
    last_error    text,
    queued_at     timestamptz not null,
    next_attempt  timestamptz not null,
    lease         uuid
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create index if not exists invalidations_due on reaper.invalidations (next_attempt);

create table if not exists reaper.retired_keys (
    object_key  text        not null primary key,
    retired_at  timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

comment on table reaper.cleanup_queue is 'Objects whose deletion failed for now; retried with growing pauses.';
comment on column reaper.cleanup_queue.queue_id is 'Kept when the row moves to cleanup_dlq.';
comment on column reaper.cleanup_queue.backend is 'Where the object lies.';
comment on column reaper.cleanup_queue.object_key is 'Its immutable name: no live content has it.';
comment on column reaper.cleanup_queue.content_hash is 'What it held.';
comment on column reaper.cleanup_queue.size_bytes is 'Bytes that are still stored; null = unknown.';
comment on column reaper.cleanup_queue.attempts is 'Failures so far; after ten it is given up.';
comment on column reaper.cleanup_queue.outages is 'How often it could not be tried because the backend was away or throttled; costs no attempt.';
comment on column reaper.cleanup_queue.passes_left is 'How many deletions are still wanted: 2 for the key of a dropped intent, whose slow upload may land after the first.';
comment on column reaper.cleanup_queue.last_error is 'The last refusal.';
comment on column reaper.cleanup_queue.queued_at is 'When it came here.';
comment on column reaper.cleanup_queue.next_attempt is 'Not before.';
comment on column reaper.cleanup_queue.lease is 'The fencing token of whoever tries it now; only with it the row can be settled.';
comment on table reaper.cleanup_dlq is 'Objects whose deletion failed for good: an operator decides. Their bytes are still stored.';
comment on column reaper.cleanup_dlq.queue_id is 'The number it had in cleanup_queue.';
comment on column reaper.cleanup_dlq.backend is 'Where the object lies.';
comment on column reaper.cleanup_dlq.object_key is 'Its immutable name: no live content has it.';
comment on column reaper.cleanup_dlq.content_hash is 'What it held.';
comment on column reaper.cleanup_dlq.size_bytes is 'Bytes that are still stored; null = unknown.';
comment on column reaper.cleanup_dlq.attempts is 'Refusals so far.';
comment on column reaper.cleanup_dlq.passes_left is 'How many deletions were still wanted; kept, so that a retry owes as many.';
comment on column reaper.cleanup_dlq.cause is 'The kind of error, for filtering: AccessDenied, ObjectLocked, …; other = not said.';
comment on column reaper.cleanup_dlq.last_error is 'Why it was given up.';
comment on column reaper.cleanup_dlq.queued_at is 'When its deletion was first owed.';
comment on column reaper.cleanup_dlq.buried_at is 'When it was given up.';
comment on table reaper.invalidations is 'Cache entries whose deletion failed; retried until Redis confirms.';
comment on column reaper.invalidations.short_code is 'The paste that is gone.';
comment on column reaper.invalidations.attempts is 'Failures so far.';
comment on column reaper.invalidations.last_error is 'The last failure.';
comment on column reaper.invalidations.queued_at is 'When it came here.';
comment on column reaper.invalidations.next_attempt is 'Not before.';
comment on column reaper.invalidations.lease is 'The fencing token of whoever tries it now; only with it the row can be settled.';
comment on table reaper.retired_keys is
    'Names of dead objects that equal their content hash: a new content row may not take such a name (RP004) until the object is confirmed gone.';
comment on column reaper.retired_keys.object_key is 'The name.';
comment on column reaper.retired_keys.retired_at is 'When its content row went.';
