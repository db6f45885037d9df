-- What a DBA may tune at run time: one row, one typed and documented column per setting.
-- locks: none on existing tables
-- depends: 0007.index-object-keys
create table if not exists reaper.settings (
    only_row          boolean  not null primary key default true constraint settings_has_one_row check (only_row),
    worker_silence    interval not null default '60 seconds' constraint settings_worker_silence_check
                               check (worker_silence between interval '5 seconds' and interval '1 day'),
    blocked_retry     interval not null default '1 hour' constraint settings_blocked_retry_check
                               check (blocked_retry between interval '1 second' and interval '30 days'),
    clock_may_move    boolean  not null default false,
    clock_offset      interval not null default '0'
);
insert into reaper.settings default values on conflict do nothing;
grant select on reaper.settings to reaper_ops, reaper_ro;
grant update (worker_silence, blocked_retry) on reaper.settings to reaper_ops;

comment on table reaper.settings is
    'One row. Change it with UPDATE; every call reads it anew, so no restart is needed.';
comment on column reaper.settings.only_row is
    'Keeps the table at one row.';
comment on column reaper.settings.worker_silence is
    'A worker whose last heartbeat is older than this counts as dead: reset_stuck takes its batches.';
comment on column reaper.settings.blocked_retry is
    'How long a row that could not be deleted is left alone after the first failure; doubles with each further one, up to a day.';
comment on column reaper.settings.clock_may_move is
    'For tests only: lets clock_offset move reaper.clock(). Only the owner can write it.';
comment on column reaper.settings.clock_offset is
    'For tests only: what reaper.clock() adds to the time of day while clock_may_move is true.';
