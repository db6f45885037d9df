-- Creates the tables of services: when each service runs, who paused it, how its last run ended; the audit of what people changed; and
-- the errors of jobs.
-- locks: none on existing tables
-- depends: 0008.retention-policies
create table if not exists reaper.services (
    name                  text collate "C" not null primary key,
    service_key           integer     generated always as identity unique,
    description           text        not null,
    schedule              text        not null,
    default_schedule      text        not null,
    enabled               boolean     not null,
    paused_until          timestamptz,
    paused_by             text,
    pause_reason          text,
    next_run_at           timestamptz,
    unplanned_since       timestamptz,
    waiting_since         timestamptz,
    recent_starts         timestamptz[] not null default '{}',
    planned_zone          text,
    last_started_at       timestamptz,
    last_finished_at      timestamptz,
    last_worker           text,
    last_result           jsonb,
    last_error            text,
    consecutive_failures  integer     not null default 0,
    runs                  bigint      not null default 0,
    skipped               bigint      not null default 0,
    lease_token           uuid,
    lease_until           timestamptz,
    lease_worker          text
) with (fillfactor = 50);

create table if not exists reaper.audit (
    audit_id  bigint      generated always as identity primary key,
    at        timestamptz not null,
    who       text        not null,
    action    text        not null,
    subject   text        not null,
    reason    text,
    detail    text
);

create table if not exists reaper.job_errors (
    error_id  bigint      generated always as identity primary key,
    job_id    bigint      not null,
    task      text        not null,
    attempt   integer     not null,
    error     text        not null,
    at        timestamptz not null
);
create index if not exists job_errors_job on reaper.job_errors (job_id);

comment on table reaper.services is
    'One row per service and when it runs. Change it with pause(), resume(), reschedule(), run_now(), enable_service(), disable_service().';
comment on column reaper.services.name is 'Name of the service; policy:NAME for a retention policy.';
comment on column reaper.services.service_key is 'Second key of the service''s advisory lock.';
comment on column reaper.services.description is 'What the service does.';
comment on column reaper.services.schedule is 'When the service runs: cron in settings.time_zone, @hourly and the like, or an interval.';
comment on column reaper.services.default_schedule is 'Schedule of the installed release; it differs from schedule after reschedule().';
comment on column reaper.services.enabled is 'Whether the service runs; false: never.';
comment on column reaper.services.paused_until is 'End of the pause: the service does not run before this time.';
comment on column reaper.services.paused_by is 'Login that paused the service.';
comment on column reaper.services.pause_reason is 'Why the service is paused.';
comment on column reaper.services.next_run_at is 'When the service is due; null = not planned by a worker yet. Several missed runs are caught up with one.';
comment on column reaper.services.unplanned_since is 'When a worker was last asked to plan the service anew; of interest while next_run_at is null.';
comment on column reaper.services.waiting_since is 'First scheduled start since which no run has begun; null = none waits.';
comment on column reaper.services.recent_starts is
    'Scheduled starts of the last two hours and the one before them, a minute apart at least; only of the drain, whose lateness is judged by them.';
comment on column reaper.services.planned_zone is 'settings.time_zone when next_run_at was planned.';
comment on column reaper.services.last_started_at is 'When the last run started.';
comment on column reaper.services.last_finished_at is 'When the last run ended.';
comment on column reaper.services.last_worker is 'Worker that started the last run.';
comment on column reaper.services.last_result is 'Figures of the last run.';
comment on column reaper.services.last_error is 'Error of the last run; null if it succeeded.';
comment on column reaper.services.consecutive_failures is 'Number of runs that failed since the last success.';
comment on column reaper.services.runs is 'Number of runs that ended.';
comment on column reaper.services.skipped is 'Number of runs skipped because another worker held the service lock.';
comment on column reaper.services.lease_token is 'Token of the worker that runs the service now; null if none does.';
comment on column reaper.services.lease_until is 'When the lease expires unless the worker extends it.';
comment on column reaper.services.lease_worker is 'Worker that holds the lease.';
comment on table reaper.audit is 'Changes that people made to services, policies, backends, the DLQ and the accounts. Never pruned.';
comment on column reaper.audit.audit_id is 'Ascending number of the entry.';
comment on column reaper.audit.at is 'When the change was made.';
comment on column reaper.audit.who is 'Login that made the change.';
comment on column reaper.audit.action is 'Function that was called.';
comment on column reaper.audit.subject is 'Service, policy, backend or object that was changed.';
comment on column reaper.audit.reason is 'Reason given by the caller.';
comment on column reaper.audit.detail is 'Old and new values.';
comment on table reaper.job_errors is 'Error texts of failed jobs; procrastinate itself keeps none.';
comment on column reaper.job_errors.error_id is 'Ascending number of the entry.';
comment on column reaper.job_errors.job_id is 'Id of the job in procrastinate.';
comment on column reaper.job_errors.task is 'Task of the job.';
comment on column reaper.job_errors.attempt is 'Number of the attempt.';
comment on column reaper.job_errors.error is 'Error text.';
comment on column reaper.job_errors.at is 'When the error was recorded.';

grant select on reaper.audit to reaper_ops, reaper_ro;
