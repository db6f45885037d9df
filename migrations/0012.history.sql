-- Creates the tables of what happened: figures per batch, counts that were found wrong, refusals of zombies; and the places of the
-- two scans that walk a large table in pages, over as many runs as it takes.
-- locks: none on existing tables
-- depends: 0011.put-intents
create table if not exists reaper.runs (
    run_id                bigint      generated always as identity primary key,
    batch_id              uuid        not null,
    worker                text,
    rows_claimed          integer     not null,
    rows_deleted          integer     not null,
    rows_returned         integer     not null,
    rows_blocked          integer     not null,
    objects_deleted       integer     not null,
    objects_failed        integer     not null,
    bytes_freed           bigint      not null,
    invalidations_failed  integer     not null,
    short_codes           text[],
    content_hashes        text[],
    claimed_at            timestamptz not null,
    released_at           timestamptz not null,
    finished_at           timestamptz not null
);
-- Not compressed, as in reaper.batches.
alter table reaper.runs
    alter column short_codes set storage external,
    alter column content_hashes set storage external;
create index if not exists runs_finished on reaper.runs using brin (finished_at);
-- Holds only the runs that still remember, so that forgetting never walks past those that have forgotten.
create index if not exists runs_with_codes on reaper.runs (finished_at) where short_codes is not null;

create table if not exists reaper.drift (
    drift_id      bigint      generated always as identity primary key,
    content_hash  text        not null,
    expected      bigint      not null,
    found         bigint      not null,
    action        text        not null constraint drift_action_check
                              check (action in ('raised', 'collected', 'left', 'lowered')),
    noticed_at    timestamptz not null
);

create sequence if not exists reaper.refusals;

create table if not exists reaper.stray_scan (
    only_row    boolean     not null primary key default true constraint stray_scan_has_one_row check (only_row),
    after       timestamptz not null default '-infinity',
    after_code  text        not null default '',
    rest_until  timestamptz not null default '-infinity'
);
insert into reaper.stray_scan default values on conflict do nothing;

create table if not exists reaper.unreferenced_scan (
    only_row  boolean not null primary key default true constraint unreferenced_scan_has_one_row check (only_row),
    after     text    not null default ''
);
insert into reaper.unreferenced_scan default values on conflict do nothing;

comment on table reaper.runs is 'One row per finished batch, for figures and for answering "when did it go".';
comment on column reaper.runs.run_id is 'Order of finishing.';
comment on column reaper.runs.batch_id is 'The token that the batch had last.';
comment on column reaper.runs.worker is 'Who finished it.';
comment on column reaper.runs.rows_claimed is 'Rows that the claim marked.';
comment on column reaper.runs.rows_deleted is 'Rows that are gone: one reference each was released.';
comment on column reaper.runs.rows_returned is 'Rows that were given back alive.';
comment on column reaper.runs.rows_blocked is 'Rows that PostgreSQL refused to delete.';
comment on column reaper.runs.objects_deleted is 'Objects that are confirmed gone.';
comment on column reaper.runs.objects_failed is 'Objects that went to cleanup_queue or cleanup_dlq.';
comment on column reaper.runs.bytes_freed is 'Bytes of the objects that are confirmed gone, as far as sizes are known.';
comment on column reaper.runs.invalidations_failed is 'Cache entries that went to invalidations.';
comment on column reaper.runs.short_codes is 'The pastes that went with it; null where settings.keep_codes is 0, and after that time.';
comment on column reaper.runs.content_hashes is 'The contents that went with it; null as short_codes.';
comment on column reaper.runs.claimed_at is 'When the rows were marked.';
comment on column reaper.runs.released_at is 'When rows and references went.';
comment on column reaper.runs.finished_at is 'When the batch was settled.';
comment on table reaper.drift is 'Every time ref_count and the paste rows disagreed: the rows were believed.';
comment on column reaper.drift.drift_id is 'Order of noticing.';
comment on column reaper.drift.content_hash is 'The content.';
comment on column reaper.drift.expected is 'What ref_count said would remain.';
comment on column reaper.drift.found is 'What the paste rows said: all of them where expected is 0 or less, else only whether there is one.';
comment on column reaper.drift.action is
    'raised: set to the true count. collected: wrong, and no row is left: the content went. left: too high, in doubt leak. lowered: too high, and repaired by repair_counts.';
comment on column reaper.drift.noticed_at is 'When.';
comment on sequence reaper.refusals is 'Counts RP001: a sequence, because a counter in a table would roll back with the refusal.';
comment on table reaper.stray_scan is 'Where the watchdog is in its scan for marked rows without a batch.';
comment on column reaper.stray_scan.only_row is 'Keeps the table at one row.';
comment on column reaper.stray_scan.after is 'Rows that expired before this were looked at in the present pass.';
comment on column reaper.stray_scan.after_code is 'Of those that expired just then, the ones up to this code were.';
comment on column reaper.stray_scan.rest_until is 'No new pass before this: a pass over a large backlog is made once an hour.';
comment on table reaper.unreferenced_scan is 'Where collect_unreferenced() is in its walk through the contents.';
comment on column reaper.unreferenced_scan.only_row is 'Keeps the table at one row.';
comment on column reaper.unreferenced_scan.after is 'Contents up to this hash were looked at in the present pass; empty = a new pass begins.';
