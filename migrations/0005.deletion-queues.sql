-- Creates the queues of deletions outside PostgreSQL that failed: objects, cache entries, and object names that must not be reused
-- yet. Every object that is still to be deleted is a row in a batch or in a queue.
-- locks: none on existing tables
-- depends: 0004.workers-and-batches
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
-- A lease is settled by its token, a group of DLQ entries by its cause; neither may read the whole table.
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

comment on table reaper.cleanup_queue is 'Objects queued for deletion after a failed attempt; retried with growing pauses.';
comment on column reaper.cleanup_queue.queue_id is 'Number of the entry; kept when the row moves to cleanup_dlq.';
comment on column reaper.cleanup_queue.backend is 'Backend that stores the object.';
comment on column reaper.cleanup_queue.object_key is 'Key of the object; no live content uses it.';
comment on column reaper.cleanup_queue.content_hash is 'Hash of the deleted content.';
comment on column reaper.cleanup_queue.size_bytes is 'Size of the object in bytes; null = unknown.';
comment on column reaper.cleanup_queue.attempts is 'Failed attempts; the tenth moves the entry to cleanup_dlq.';
comment on column reaper.cleanup_queue.outages is 'How often the object could not be tried because its backend was unreachable or throttled; not counted in attempts.';
comment on column reaper.cleanup_queue.passes_left is
    'Number of deletions still to do: 2 for the key of a dropped intent, whose slow upload may finish after the first.';
comment on column reaper.cleanup_queue.last_error is 'Error of the last attempt.';
comment on column reaper.cleanup_queue.queued_at is 'When the object was queued.';
comment on column reaper.cleanup_queue.next_attempt is 'Earliest time of the next attempt.';
comment on column reaper.cleanup_queue.lease is 'Fencing token of the lease under which the object is being deleted; finish_cleanup needs it.';
comment on table reaper.cleanup_dlq is 'DLQ: objects whose deletion failed permanently and needs an operator''s decision. Their bytes are still stored.';
comment on column reaper.cleanup_dlq.queue_id is 'Number that the entry had in cleanup_queue.';
comment on column reaper.cleanup_dlq.backend is 'Backend that stores the object.';
comment on column reaper.cleanup_dlq.object_key is 'Key of the object; no live content uses it.';
comment on column reaper.cleanup_dlq.content_hash is 'Hash of the deleted content.';
comment on column reaper.cleanup_dlq.size_bytes is 'Size of the object in bytes; null = unknown.';
comment on column reaper.cleanup_dlq.attempts is 'Number of failed attempts.';
comment on column reaper.cleanup_dlq.passes_left is 'Number of deletions still to do; retry_dlq keeps it.';
comment on column reaper.cleanup_dlq.cause is 'Error code, for filtering: AccessDenied, ObjectLocked, …; other = the error has no code.';
comment on column reaper.cleanup_dlq.last_error is 'Error of the last attempt.';
comment on column reaper.cleanup_dlq.queued_at is 'When the object was first queued for deletion.';
comment on column reaper.cleanup_dlq.buried_at is 'When the entry was moved to the DLQ.';
comment on table reaper.invalidations is 'Cache entries queued for deletion; retried until Redis confirms.';
comment on column reaper.invalidations.short_code is 'Code of the deleted paste.';
comment on column reaper.invalidations.attempts is 'Number of failed attempts.';
comment on column reaper.invalidations.last_error is 'Error of the last attempt.';
comment on column reaper.invalidations.queued_at is 'When the cache entry was queued.';
comment on column reaper.invalidations.next_attempt is 'Earliest time of the next attempt.';
comment on column reaper.invalidations.lease is 'Fencing token of the lease under which the cache entry is being deleted; finish_invalidations needs it.';
comment on table reaper.retired_keys is
    'Object keys that equal a content hash and whose object is not yet deleted: new content must not use such a key (RP004).';
comment on column reaper.retired_keys.object_key is 'The object key.';
comment on column reaper.retired_keys.retired_at is 'When the content row with this key was deleted.';

grant select on reaper.invalidations to reaper_ops, reaper_ro;
