-- Creates the schema of internal functions, and the table that remembers what reaper made in the application's tables, so that
-- a rollback never drops what it did not create. Schema reaper itself comes with the ledger of migrations.
-- locks: none on existing tables
create schema if not exists reaper_internal authorization reaper_owner;
comment on schema reaper_internal is
    'What the functions of schema reaper call. No role has any right here, and signatures may change with any release.';

create table if not exists reaper.provenance (
    object   text        not null primary key,
    made_at  timestamptz not null default now()
);
comment on table reaper.provenance is
    'What reaper created outside its own schema: "table pastes", "column content.object_key", … A rollback drops these and nothing else.';
comment on column reaper.provenance.object is 'What kind of thing and its name.';
comment on column reaper.provenance.made_at is 'When reaper made it.';
comment on schema reaper is 'Functions to call and views to look at (docs/sql.md), and the tables behind them.';
grant usage on schema reaper to reaper_worker, reaper_app, reaper_ops, reaper_ro;
