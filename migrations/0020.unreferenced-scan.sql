-- Remembers how far the look for content that no paste names has come, so that a large table is walked in pages, over as many
-- runs as it takes.
-- locks: none on existing tables
-- depends: 0019.managed-cleanup
create table if not exists reaper.unreferenced_scan (
    only_row  boolean not null primary key default true constraint unreferenced_scan_has_one_row check (only_row),
    after     text    not null default ''
);
insert into reaper.unreferenced_scan default values on conflict do nothing;

comment on table reaper.unreferenced_scan is 'Where collect_unreferenced() is in its walk through the contents.';
comment on column reaper.unreferenced_scan.only_row is 'Keeps the table at one row.';
comment on column reaper.unreferenced_scan.after is 'Contents up to this hash were looked at in the present pass; empty = a new pass begins.';
comment on column reaper.drift.action is
    'raised: set to the true count. collected: wrong, and no row is left: the content went. left: too high, in doubt leak. lowered: too high, and repaired by repair_counts.';
