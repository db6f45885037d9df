-- Creates the tables of workers, of batches and of rows that cannot be deleted. A batch is the unit of work: its uuid is the fencing
-- token, its arrays list the objects and cache entries that are still to be deleted outside PostgreSQL.
-- locks: none on existing tables
-- depends: 0003.backends
create table if not exists reaper.workers (
    worker          text collate "C" not null primary key,
    started_at      timestamptz      not null,
    beat_at         timestamptz      not null,
    throttled       text,
    throttled_since timestamptz,
    session_pid     integer,
    queue_worker    bigint,
    degraded        jsonb,
    takes_jobs      boolean          not null default true
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

comment on table reaper.workers is 'One row per running worker process, updated by reaper.heartbeat().';
comment on column reaper.workers.worker is 'Name of the worker, unique per process: host:pid:random.';
comment on column reaper.workers.started_at is 'When the worker sent its first heartbeat.';
comment on column reaper.workers.beat_at is 'When the worker sent its last heartbeat; older than settings.worker_silence means dead.';
comment on column reaper.workers.throttled is 'Why the worker is waiting before its next batch; null = it is not.';
comment on column reaper.workers.throttled_since is 'Since when the worker has been waiting, also over several runs; null = it is not.';
comment on column reaper.workers.session_pid is 'Process id of the server session that sends the heartbeats; when it is gone, the worker is.';
comment on column reaper.workers.queue_worker is 'Number under which the worker takes jobs from procrastinate; null = it takes none.';
comment on column reaper.workers.takes_jobs is 'Whether the process takes jobs from the queue; false for reaper drain, reaper watchdog and the like.';
comment on column reaper.workers.degraded is 'Services that do not answer this worker, such as redis, and why; null = all do, or none is configured.';

create table if not exists reaper.batches (
    batch_id         uuid        not null primary key,
    state            text        not null default 'CLAIMED' constraint batches_state_check
                                 check (state in ('CLAIMED', 'RELEASED')),
    worker           text        collate "C",
    short_codes      text[]      not null,
    places           tid[],
    other_statuses   jsonb,
    object_hashes    text[]      not null default '{}',
    object_backends  text[]      not null default '{}',
    object_keys      text[]      not null default '{}',
    object_sizes     bigint[]    not null default '{}',
    rows_claimed     integer     not null,
    rows_returned    integer     not null default 0,
    rows_blocked     integer     not null default 0,
    claimed_at       timestamptz not null,
    held_since       timestamptz not null,
    released_at      timestamptz,
    constraint batches_released_is_dated check ((state = 'RELEASED') = (released_at is not null)),
    constraint batches_objects_are_whole check (
        cardinality(object_hashes) = cardinality(object_keys)
        and cardinality(object_hashes) = cardinality(object_backends)
        and cardinality(object_hashes) = cardinality(object_sizes)
    )
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
-- Not compressed: codes, hashes and keys are mostly random, and compressing and reading them again cost a fifth of a drop's time.
alter table reaper.batches
    alter column short_codes set storage external,
    alter column places set storage external,
    alter column object_hashes set storage external,
    alter column object_keys set storage external;

comment on table reaper.batches is
    'Batches in flight: CLAIMED (rows are marked DELETION_IN_PROGRESS) → RELEASED (rows and references are deleted; objects and cache entries are to be deleted) → row removed.';
comment on column reaper.batches.batch_id is 'Uuid of the batch and its fencing token: calls with an outdated uuid are refused (RP001).';
comment on column reaper.batches.state is 'CLAIMED batches can be reset by the watchdog; RELEASED batches are never reset, only adopted by another worker.';
comment on column reaper.batches.worker is 'Worker that holds the batch; null = ownerless: reset_stuck takes a CLAIMED one, adopt_batch a RELEASED one.';
comment on column reaper.batches.short_codes is 'CLAIMED: codes of the marked pastes. RELEASED: codes of the deleted pastes, whose cache entries are to be deleted.';
comment on column reaper.batches.places is
    'Row addresses (ctid) of the claimed rows, in the order of short_codes; null when unknown and after the release. A hint: rows are identified by their codes.';
comment on column reaper.batches.other_statuses is
    'Status of the claimed rows that were not NOT_EXPIRED before, as {code: status}; a row that is returned gets it back. Null if there is none, and after the release.';
comment on column reaper.batches.object_hashes is 'Hashes of the contents that lost their last reference.';
comment on column reaper.batches.object_backends is 'Backend of each object to delete.';
comment on column reaper.batches.object_keys is 'Key of each object to delete; no live content uses it.';
comment on column reaper.batches.object_sizes is 'Size of each object in bytes; null = unknown.';
comment on column reaper.batches.rows_claimed is 'Number of rows that the claim marked.';
comment on column reaper.batches.rows_returned is 'Number of claimed rows that were not deleted: extended, or locked by another transaction.';
comment on column reaper.batches.rows_blocked is 'Number of claimed rows that PostgreSQL refused to delete; see reaper.blocked.';
comment on column reaper.batches.claimed_at is 'When the rows were marked.';
comment on column reaper.batches.held_since is 'When the present worker got the batch.';
comment on column reaper.batches.released_at is 'When rows and references were deleted; null while CLAIMED.';

create table if not exists reaper.blocked (
    short_code    text        not null primary key,
    sqlstate      text        not null,
    message       text        not null,
    attempts      integer     not null default 1,
    blocked_at    timestamptz not null,
    next_attempt  timestamptz not null
);

comment on table reaper.blocked is 'Due pastes whose deletion PostgreSQL refused; claims skip them until next_attempt.';
comment on column reaper.blocked.short_code is 'Code of the paste.';
comment on column reaper.blocked.sqlstate is 'SQLSTATE of the refusal; 23503 = another table refers to the row.';
comment on column reaper.blocked.message is 'Error message of PostgreSQL.';
comment on column reaper.blocked.attempts is 'Number of failed attempts.';
comment on column reaper.blocked.blocked_at is 'When the deletion was first refused.';
comment on column reaper.blocked.next_attempt is 'When a claim may take the row again.';
