-- Creates the tables of workers, of batches and of rows that cannot be deleted. A batch is the unit of everything: its uuid is the fencing token, its arrays are the journal of
-- what is still to be done outside PostgreSQL.
-- locks: none on existing tables
-- depends: 0008.backends
create table if not exists reaper.workers (
    worker      text collate "C" not null primary key,
    started_at  timestamptz      not null,
    beat_at     timestamptz      not null,
    throttled   text
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

comment on table reaper.workers is 'One row per living worker process, kept fresh by reaper.heartbeat().';
comment on column reaper.workers.worker is 'Unique per process: host:pid:random.';
comment on column reaper.workers.started_at is 'The first heartbeat.';
comment on column reaper.workers.beat_at is 'The last heartbeat; older than settings.worker_silence means dead.';
comment on column reaper.workers.throttled is 'Why the worker waits at this moment; null = it does not.';

create table if not exists reaper.batches (
    batch_id         uuid        not null primary key,
    state            text        not null default 'CLAIMED' constraint batches_state_check
                                 check (state in ('CLAIMED', 'RELEASED')),
    worker           text        collate "C",
    short_codes      text[]      not null,
    places           tid[],
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
    'Work in flight: CLAIMED (rows are marked) → RELEASED (rows and references are gone, side effects are owed) → row deleted.';
comment on column reaper.batches.batch_id is 'The fencing token: whoever does not know the current one changes nothing.';
comment on column reaper.batches.state is 'CLAIMED may be reset by the watchdog; RELEASED is never reset, only adopted.';
comment on column reaper.batches.worker is 'Who holds it; null = ownerless: reset_stuck takes a CLAIMED one, adopt_batch a RELEASED one.';
comment on column reaper.batches.short_codes is 'CLAIMED: the rows that are marked. RELEASED: the rows that are gone and whose cache entries are to be dropped.';
comment on column reaper.batches.places is
    'Where the claimed rows lie, in the order of short_codes; null when unknown, and once they are gone. A hint: rows are told by their codes.';
comment on column reaper.batches.object_hashes is 'The content that lost its last reference.';
comment on column reaper.batches.object_backends is 'Where each object lies.';
comment on column reaper.batches.object_keys is 'The name of each object; no live content has it any more.';
comment on column reaper.batches.object_sizes is 'Bytes of each object; null = unknown.';
comment on column reaper.batches.rows_claimed is 'How many rows the claim marked.';
comment on column reaper.batches.rows_returned is 'How many of them were given back alive: extended, or held by somebody else.';
comment on column reaper.batches.rows_blocked is 'How many of them could not be deleted; see reaper.blocked.';
comment on column reaper.batches.claimed_at is 'When the rows were marked.';
comment on column reaper.batches.held_since is 'When the present holder got it.';
comment on column reaper.batches.released_at is 'When the references were dropped.';

create table if not exists reaper.blocked (
    short_code    text        not null primary key,
    sqlstate      text        not null,
    message       text        not null,
    attempts      integer     not null default 1,
    blocked_at    timestamptz not null,
    next_attempt  timestamptz not null
);

comment on table reaper.blocked is 'Due pastes whose deletion PostgreSQL refused; the claim skips them until next_attempt.';
comment on column reaper.blocked.short_code is 'The paste.';
comment on column reaper.blocked.sqlstate is 'The code of the refusal; 23503 = another table refers to the row.';
comment on column reaper.blocked.message is 'What PostgreSQL said.';
comment on column reaper.blocked.attempts is 'How often it was tried.';
comment on column reaper.blocked.blocked_at is 'The first refusal.';
comment on column reaper.blocked.next_attempt is 'When the claim may take the row again.';
