-- Creates the history: figures per batch, wrong reference counts that were found, the counter of refused calls (RP001); and the
-- positions of the two scans that read a large table in pages over several runs.
-- locks: none on existing tables
-- depends: 0006.put-intents
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
    dead_letters          integer     not null default 0,
    bytes_freed           bigint      not null,
    objects_unsized       integer     not null default 0,
    invalidations_failed  integer     not null,
    short_codes           text[],
    content_hashes        text[],
    claimed_at            timestamptz not null,
    released_at           timestamptz not null,
    finished_at           timestamptz not null,
    held_since            timestamptz
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

comment on table reaper.runs is 'One row per finished batch: its figures, and what it deleted (for reaper why).';
comment on column reaper.runs.run_id is 'Ascending number, in order of finishing.';
comment on column reaper.runs.batch_id is 'Last uuid of the batch.';
comment on column reaper.runs.worker is 'Worker that finished the batch.';
comment on column reaper.runs.rows_claimed is 'Rows that the claim marked.';
comment on column reaper.runs.rows_deleted is 'Paste rows deleted; one reference was released for each.';
comment on column reaper.runs.rows_returned is 'Claimed rows that were not deleted: extended, or locked by another transaction.';
comment on column reaper.runs.rows_blocked is 'Rows that PostgreSQL refused to delete.';
comment on column reaper.runs.objects_deleted is 'Objects deleted, as confirmed by the backend.';
comment on column reaper.runs.objects_failed is 'Objects moved to cleanup_queue or cleanup_dlq.';
comment on column reaper.runs.dead_letters is 'Objects moved to cleanup_dlq.';
comment on column reaper.runs.objects_unsized is 'Deleted objects whose size is unknown; bytes_freed is without them.';
comment on column reaper.runs.bytes_freed is 'Bytes of the deleted objects whose size is known.';
comment on column reaper.runs.invalidations_failed is 'Cache entries moved to invalidations.';
comment on column reaper.runs.short_codes is 'Codes of the deleted pastes; null if settings.keep_codes is 0, and after that time.';
comment on column reaper.runs.content_hashes is 'Hashes of the deleted contents; null if settings.keep_codes is 0, and after that time.';
comment on column reaper.runs.claimed_at is 'When the rows were marked.';
comment on column reaper.runs.released_at is 'When rows and references were deleted.';
comment on column reaper.runs.finished_at is 'When the batch was finished.';
comment on column reaper.runs.held_since is 'When the worker that finished the batch got it: at the claim, or later if it adopted the batch.';
comment on table reaper.drift is 'One row each time ref_count differed from the number of paste rows; the paste rows are taken as the truth.';
comment on column reaper.drift.drift_id is 'Ascending number, in order of discovery.';
comment on column reaper.drift.content_hash is 'Hash of the content.';
comment on column reaper.drift.expected is 'References that would remain according to ref_count.';
comment on column reaper.drift.found is 'References according to the paste rows: all of them where expected is 0 or less, else 1 or 0.';
comment on column reaper.drift.action is
    'raised: ref_count set to the number of paste rows. collected: no paste row was left, content deleted. left: ref_count too high, not changed. lowered: ref_count too high, corrected by repair_counts.';
comment on column reaper.drift.noticed_at is 'When the difference was found.';
comment on sequence reaper.refusals is 'Counts refused calls (RP001). A sequence, because a counter in a table would be rolled back with the refused call.';
comment on table reaper.stray_scan is 'Position of the watchdog''s scan for marked rows without a batch.';
comment on column reaper.stray_scan.only_row is 'Keeps the table at one row.';
comment on column reaper.stray_scan.after is 'Rows that expired before this time were scanned in the present pass.';
comment on column reaper.stray_scan.after_code is 'Of the rows that expired exactly at that time, those up to this code were scanned.';
comment on column reaper.stray_scan.rest_until is 'No new pass before this time: a large backlog is scanned once an hour.';
comment on table reaper.unreferenced_scan is 'Position of collect_unreferenced() in its scan of the contents.';
comment on column reaper.unreferenced_scan.only_row is 'Keeps the table at one row.';
comment on column reaper.unreferenced_scan.after is 'Contents up to this hash were scanned in the present pass; empty = a new pass begins.';

grant select on reaper.drift to reaper_ops, reaper_ro;
