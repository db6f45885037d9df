-- Creates the table of retention policies: which rows of which tables go when they are old. None is enabled at first.
-- locks: none on existing tables
-- depends: 0012.history
create table if not exists reaper.retention_policies (
    name             text collate "C" not null primary key constraint retention_policies_name_check
                                      check (name ~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$'),
    table_oid        oid         not null,
    table_schema     name        not null,
    table_name       name        not null,
    column_name      name        not null,
    column_type      text        not null,
    max_age          interval    not null constraint retention_policies_max_age_check
                                 check (max_age between interval '1 minute' and interval '100 years'),
    batch_limit      integer     not null constraint retention_policies_batch_limit_check
                                 check (batch_limit between 1 and 10000),
    schedule         text        not null,
    allow_cascade    boolean     not null,
    enabled          boolean     not null default false,
    created_by       name        not null,
    created_at       timestamptz not null,
    last_purge_at    timestamptz,
    last_deleted     integer,
    rows_per_second  numeric
) with (fillfactor = 50);

comment on table reaper.retention_policies is
    'What reaper.purge_aged() deletes, from tables of any application; kept by add_retention_policy(), enable_policy(), disable_policy() and remove_policy().';
comment on column reaper.retention_policies.name is 'How jobs and people call it.';
comment on column reaper.retention_policies.table_oid is 'The table; together with its name, so that one that was renamed or made again is noticed.';
comment on column reaper.retention_policies.table_schema is 'The schema that the table had at registration.';
comment on column reaper.retention_policies.table_name is 'The name that the table had at registration.';
comment on column reaper.retention_policies.column_name is 'The column that says how old a row is; rows where it is null are kept.';
comment on column reaper.retention_policies.column_type is 'Its type at registration: with or without time zone, or date. The last two are compared in UTC.';
comment on column reaper.retention_policies.max_age is 'Rows older than this are deleted.';
comment on column reaper.retention_policies.batch_limit is 'How many rows one purge deletes at most.';
comment on column reaper.retention_policies.schedule is 'When a purge begins: cron (UTC), @hourly and the like, or an interval. SQL only keeps it.';
comment on column reaper.retention_policies.allow_cascade is 'Whether foreign keys that delete or change other rows, and triggers, were agreed to.';
comment on column reaper.retention_policies.enabled is 'False deletes nothing.';
comment on column reaper.retention_policies.created_by is 'Who registered it (session_user); must keep the right to delete from the table.';
comment on column reaper.retention_policies.created_at is 'When it was registered.';
comment on column reaper.retention_policies.last_purge_at is 'When a purge last ended; of several at once, one.';
comment on column reaper.retention_policies.last_deleted is 'How many rows that purge deleted.';
comment on column reaper.retention_policies.rows_per_second is 'How fast the last purge was that deleted anything.';
