-- Creates the table of retention policies: rows of which table are deleted at which age. A new policy is not enabled.
-- locks: none on existing tables
-- depends: 0007.history
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
    'Retention policies: which rows reaper.purge_aged() deletes. Changed by add_retention_policy(), enable_policy(), disable_policy() and remove_policy().';
comment on column reaper.retention_policies.name is 'Name of the policy.';
comment on column reaper.retention_policies.table_oid is 'Oid of the table; compared together with its name, to notice a table that was renamed or created again.';
comment on column reaper.retention_policies.table_schema is 'Schema of the table at registration.';
comment on column reaper.retention_policies.table_name is 'Name of the table at registration.';
comment on column reaper.retention_policies.column_name is 'Column with the time from which a row''s age is counted; rows where it is null are kept.';
comment on column reaper.retention_policies.column_type is
    'Type of the column at registration: timestamp with or without time zone, or date. The last two are compared in UTC.';
comment on column reaper.retention_policies.max_age is 'Rows older than this are deleted.';
comment on column reaper.retention_policies.batch_limit is 'Maximum number of rows per purge.';
comment on column reaper.retention_policies.schedule is 'When a purge starts: cron (settings.time_zone), @hourly and the like, or an interval. SQL only stores it.';
comment on column reaper.retention_policies.allow_cascade is 'Whether foreign keys that delete or change other rows, and triggers, were allowed at registration.';
comment on column reaper.retention_policies.enabled is 'Whether purges delete rows; false: they delete none.';
comment on column reaper.retention_policies.created_by is 'Login that registered the policy (session_user); it must keep the right to delete from the table.';
comment on column reaper.retention_policies.created_at is 'When the policy was registered.';
comment on column reaper.retention_policies.last_purge_at is 'When the last purge ended; of several at the same time, one is recorded.';
comment on column reaper.retention_policies.last_deleted is 'Number of rows that the last purge deleted.';
comment on column reaper.retention_policies.rows_per_second is 'Speed of the last purge that deleted rows.';
