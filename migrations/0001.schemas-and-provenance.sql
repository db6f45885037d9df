-- Creates schema reaper_internal for internal functions, and the table that records what reaper created in the application's tables,
-- so that a rollback drops only that. Schema reaper itself is created with the ledger of migrations.
-- locks: none on existing tables
create schema if not exists reaper_internal authorization reaper_owner;
comment on schema reaper_internal is
    'Functions that the functions of schema reaper call. No role has any right here; signatures may change with any release.';

create table if not exists reaper.provenance (
    object   text        not null primary key,
    made_at  timestamptz not null default now()
);
comment on table reaper.provenance is
    'What reaper created outside its own schemas: "table pastes", "column content.object_key", … A rollback drops only these.';
comment on column reaper.provenance.object is 'Kind and name of the object that reaper created.';
comment on column reaper.provenance.made_at is 'When reaper created it.';
grant usage on schema reaper to reaper_worker, reaper_app, reaper_ops, reaper_ro;
comment on schema reaper is 'Functions to call and views to read (docs/sql.md), and the tables behind them.';
