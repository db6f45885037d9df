-- Creates the table of settings that a DBA may change at run time: one row, one typed and documented column per setting.
-- locks: none on existing tables
-- depends: 0009.services
create table if not exists reaper.settings (
    only_row          boolean  not null primary key default true constraint settings_has_one_row check (only_row),
    worker_silence    interval not null default '60 seconds' constraint settings_worker_silence_check
                               check (worker_silence between interval '5 seconds' and interval '1 day'),
    blocked_retry     interval not null default '1 hour' constraint settings_blocked_retry_check
                               check (blocked_retry between interval '1 second' and interval '30 days'),
    keep_codes        interval not null default '3 days' constraint settings_keep_codes_check
                               check (keep_codes between interval '0' and interval '90 days'),
    drain_slots       integer  not null default 2 constraint settings_drain_slots_check
                               check (drain_slots between 1 and 64),
    batch_size        integer  not null default 1000 constraint settings_batch_size_check
                               check (batch_size between 1 and 10000),
    rows_per_second   integer  constraint settings_rows_per_second_check
                               check (rows_per_second > 0),
    time_zone         text     not null default 'UTC' constraint settings_time_zone_check
                               check (time_zone ~ '^[A-Za-z_]+(/[A-Za-z0-9_+-]+)*$'
                                      and timezone(time_zone, timestamptz '2000-01-01 00:00:00+00') is not null),
    max_replica_lag   interval default '30 seconds' constraint settings_max_replica_lag_check
                               check (max_replica_lag > interval '0'),
    max_snapshot_age  interval constraint settings_max_snapshot_age_check
                               check (max_snapshot_age > interval '0'),
    wait_for_standby  text     constraint settings_wait_for_standby_check
                               check (wait_for_standby ~ '[^ ,]'),
    circuit_failures  integer  not null default 5 constraint settings_circuit_failures_check
                               check (circuit_failures between 1 and 1000),
    circuit_pause     interval not null default '30 seconds' constraint settings_circuit_pause_check
                               check (circuit_pause between interval '1 second' and interval '1 hour'),
    intent_min_age    interval not null default '15 minutes' constraint settings_intent_min_age_check
                               check (intent_min_age between interval '1 second' and interval '7 days'),
    pending_action    text     not null default 'commit' constraint settings_pending_action_check
                               check (pending_action in ('commit', 'drop')),
    queue_schema      text     not null default 'procrastinate' constraint settings_queue_schema_check
                               check (queue_schema ~ '^[a-z_][a-z0-9_]{0,62}$'),
    clock_may_move    boolean  not null default false,
    clock_offset      interval not null default '0'
);
insert into reaper.settings default values on conflict do nothing;
grant select on reaper.settings to reaper_ops, reaper_ro;
-- Neither the row's key, nor the schema for which the functions were loaded, nor the clock of the tests.
grant update (worker_silence, blocked_retry, keep_codes, drain_slots, batch_size, rows_per_second, time_zone, max_replica_lag, max_snapshot_age, wait_for_standby,
              circuit_failures, circuit_pause, intent_min_age, pending_action)
    on reaper.settings to reaper_ops;

comment on table reaper.settings is
    'Settings, in one row. Change them with UPDATE; every call reads them, so no restart is needed.';
comment on column reaper.settings.only_row is
    'Keeps the table at one row.';
comment on column reaper.settings.worker_silence is
    'A worker whose last heartbeat is older than this counts as dead: reset_stuck takes its batches.';
comment on column reaper.settings.blocked_retry is
    'Pause before a row that could not be deleted is tried again; doubles with each failure, up to a day.';
comment on column reaper.settings.keep_codes is
    'How long reaper.runs keeps the codes and hashes that a batch deleted, for reaper why; 0 = not at all.';
comment on column reaper.settings.drain_slots is
    'Maximum number of drain jobs that run at the same time, over all workers.';
comment on column reaper.settings.batch_size is
    'Rows per batch of a drain, unless --batch-size or REAPER_BATCH_SIZE says otherwise.';
comment on column reaper.settings.rows_per_second is
    'Maximum number of rows that each process deletes per second, unless --rows-per-second or REAPER_ROWS_PER_SECOND says otherwise; null = no limit.';
comment on column reaper.settings.time_zone is
    'Time zone of cron schedules, such as Europe/Berlin; a name of pg_timezone_names. Workers plan anew within seconds after a change.';
comment on column reaper.settings.max_replica_lag is
    'A drain waits while a replica is further behind than this; null = it does not wait.';
comment on column reaper.settings.max_snapshot_age is
    'A drain waits while a snapshot is older than this; null = it does not wait.';
comment on column reaper.settings.wait_for_standby is
    'Objects are deleted only after these standbys have written the release to disk: application_names separated by commas, or * for all connected ones (at least one); null = no waiting.';
comment on column reaper.settings.circuit_failures is
    'Number of consecutive failures after which a backend''s circuit opens: no requests until its next probe.';
comment on column reaper.settings.circuit_pause is
    'First pause of an open circuit; doubles with each failed probe, up to ten minutes.';
comment on column reaper.settings.intent_min_age is
    'Minimum age of a put intent before the pending reaper settles it; must be longer than the longest upload.';
comment on column reaper.settings.pending_action is
    'What the pending reaper does with an intent whose object is complete: commit (create the paste) or drop.';
comment on column reaper.settings.queue_schema is
    'Schema of procrastinate''s tables; written by reaper migrate, which loads the functions for it.';
comment on column reaper.settings.clock_may_move is
    'For tests only: lets clock_offset shift reaper.clock(). Only the owner can write it.';
comment on column reaper.settings.clock_offset is
    'For tests only: added to the time of reaper.clock() while clock_may_move is true.';
