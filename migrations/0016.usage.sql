-- Creates the tables of usage: what each process has told of its S3 requests, the sums of months, limits of backends, and which backends are
-- nearly full; the snapshot of the state gauges; the setting near_limit, and when each service last succeeded.
-- locks: reaper.settings and reaper.services ACCESS EXCLUSIVE, for moments
-- depends: 0015.integrity
create table if not exists reaper.usage_processes (
    process                 uuid        not null,
    month                   date        not null constraint usage_processes_month_check check (extract(day from month) = 1),
    backend                 text collate "C" not null,
    requests_read           bigint      not null default 0,
    requests_write          bigint      not null default 0,
    requests_list           bigint      not null default 0,
    requests_delete         bigint      not null default 0,
    ingress                 bigint      not null default 0,
    egress                  bigint      not null default 0,
    folded_requests_read    bigint      not null default 0,
    folded_requests_write   bigint      not null default 0,
    folded_requests_list    bigint      not null default 0,
    folded_requests_delete  bigint      not null default 0,
    folded_ingress          bigint      not null default 0,
    folded_egress           bigint      not null default 0,
    is_open                 boolean     not null default true,
    seen_at                 timestamptz not null,
    primary key (process, month, backend)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create index if not exists usage_processes_open on reaper.usage_processes (month, backend) where is_open;
create index if not exists usage_processes_folded on reaper.usage_processes (month) where not is_open;

create table if not exists reaper.usage_monthly (
    month            date    not null constraint usage_monthly_month_check check (extract(day from month) = 1),
    backend          text collate "C" not null,
    requests_read    numeric not null default 0,
    requests_write   numeric not null default 0,
    requests_list    numeric not null default 0,
    requests_delete  numeric not null default 0,
    ingress          numeric not null default 0,
    egress           numeric not null default 0,
    primary key (month, backend)
) with (fillfactor = 50);

create table if not exists reaper.usage_flushes (
    flush_id    uuid        not null primary key,
    flushed_at  timestamptz not null,
    rows        integer     not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create index if not exists usage_flushes_flushed_at on reaper.usage_flushes (flushed_at);

create table if not exists reaper.usage_limits (
    backend     text collate "C" not null,
    what        text collate "C" not null constraint usage_limits_what_check
                                 check (what in ('monthly_requests', 'monthly_ingress', 'monthly_egress')),
    amount      bigint  constraint usage_limits_amount_check check (amount >= 0),
    configured  bigint,
    primary key (backend, what)
);

create table if not exists reaper.nearly_full (
    backend  text collate "C" not null,
    what     text collate "C" not null constraint nearly_full_what_check
                              check (what in ('bytes', 'monthly_requests', 'monthly_ingress', 'monthly_egress')),
    since    timestamptz not null,
    used     numeric     not null,
    amount   bigint      not null,
    primary key (backend, what)
);

create table if not exists reaper.state_snapshot (
    only_row  boolean     not null primary key default true constraint state_snapshot_has_one_row check (only_row),
    taken_at  timestamptz not null default '-infinity',
    gauges    jsonb       not null default '[]'
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
insert into reaper.state_snapshot default values on conflict do nothing;

alter table reaper.settings
    add column if not exists near_limit numeric not null default 0.8 constraint settings_near_limit_check check (near_limit > 0 and near_limit <= 1);
grant update (near_limit) on reaper.settings to reaper_ops;
alter table reaper.services add column if not exists last_success_at timestamptz;

comment on column reaper.settings.near_limit is
    'Share of a quota or of a monthly limit from which a backend counts as nearly full, and usage is flushed every 5 seconds instead of 30.';
comment on column reaper.services.last_success_at is 'When a run last ended without an error.';
comment on table reaper.usage_processes is
    'S3 requests as processes told them: one row per process, month and backend with its totals since its start. What is_open counts beside usage_monthly; the other rows keep a late report from being counted twice, until their month is closed.';
comment on column reaper.usage_processes.process is 'Identity of the process, new at each start.';
comment on column reaper.usage_processes.month is 'First day of the month (UTC) in which the requests ended.';
comment on column reaper.usage_processes.backend is 'Name of the backend.';
comment on column reaper.usage_processes.requests_read is 'Requests that read: GET and HEAD of objects, reads of bucket settings.';
comment on column reaper.usage_processes.requests_write is 'Requests that write: objects, parts, begin and end of uploads.';
comment on column reaper.usage_processes.requests_list is 'Requests that list.';
comment on column reaper.usage_processes.requests_delete is 'Requests that delete; one may name up to 1000 objects.';
comment on column reaper.usage_processes.ingress is 'Bytes sent as bodies of requests.';
comment on column reaper.usage_processes.egress is 'Bytes received as bodies of answers.';
comment on column reaper.usage_processes.folded_requests_read is 'Part of requests_read that is in usage_monthly.';
comment on column reaper.usage_processes.folded_requests_write is 'Part of requests_write that is in usage_monthly.';
comment on column reaper.usage_processes.folded_requests_list is 'Part of requests_list that is in usage_monthly.';
comment on column reaper.usage_processes.folded_requests_delete is 'Part of requests_delete that is in usage_monthly.';
comment on column reaper.usage_processes.folded_ingress is 'Part of ingress that is in usage_monthly.';
comment on column reaper.usage_processes.folded_egress is 'Part of egress that is in usage_monthly.';
comment on column reaper.usage_processes.is_open is 'Whether there may be something that is not in usage_monthly yet.';
comment on column reaper.usage_processes.seen_at is 'When a report last added something.';
comment on table reaper.usage_monthly is
    'S3 requests of processes that are gone or quiet, summed by month and backend. Read all of it through the view reaper.usage.';
comment on column reaper.usage_monthly.month is 'First day of the month (UTC).';
comment on column reaper.usage_monthly.backend is 'Name of the backend.';
comment on column reaper.usage_monthly.requests_read is 'Requests that read.';
comment on column reaper.usage_monthly.requests_write is 'Requests that write.';
comment on column reaper.usage_monthly.requests_list is 'Requests that list.';
comment on column reaper.usage_monthly.requests_delete is 'Requests that delete.';
comment on column reaper.usage_monthly.ingress is 'Bytes sent as bodies of requests.';
comment on column reaper.usage_monthly.egress is 'Bytes received as bodies of answers.';
comment on table reaper.usage_flushes is 'Flushes that added something, for a day: a flush that is repeated because its answer was lost is told by its id.';
comment on column reaper.usage_flushes.flush_id is 'Identity that the caller gave the flush.';
comment on column reaper.usage_flushes.flushed_at is 'When it was flushed.';
comment on column reaper.usage_flushes.rows is 'Number of rows that it changed.';
comment on table reaper.usage_limits is 'Monthly limits of backends. Change them with set_limit(); the configuration with register_limits().';
comment on column reaper.usage_limits.backend is 'Name of the backend.';
comment on column reaper.usage_limits.what is 'monthly_requests, monthly_ingress or monthly_egress.';
comment on column reaper.usage_limits.amount is 'The limit, in requests or bytes per month (UTC); null = no limit.';
comment on column reaper.usage_limits.configured is 'Limit in the configuration; it differs from amount after set_limit().';
comment on table reaper.nearly_full is 'Quotas and limits of which settings.near_limit is used up; a row appears once per crossing, and goes when it is below again.';
comment on column reaper.nearly_full.backend is 'Name of the backend.';
comment on column reaper.nearly_full.what is 'bytes (of the quota), monthly_requests, monthly_ingress or monthly_egress.';
comment on column reaper.nearly_full.since is 'When it was noticed.';
comment on column reaper.nearly_full.used is 'What was used then.';
comment on column reaper.nearly_full.amount is 'The quota or limit then.';
comment on table reaper.state_snapshot is 'One row: the state gauges that every worker serves on /metrics; made anew by refresh_state().';
comment on column reaper.state_snapshot.only_row is 'Keeps the table at one row.';
comment on column reaper.state_snapshot.taken_at is 'When the snapshot was made.';
comment on column reaper.state_snapshot.gauges is 'The gauges: [{"gauge", "labels", "value"}].';
