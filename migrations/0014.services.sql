-- Creates the schedule as data: which service runs when, who paused it, how its last run ended; an audit of what people did; errors
-- of jobs.
-- locks: none on existing tables
-- depends: 0013.retention-policies
create table if not exists reaper.services (
    name                  text collate "C" not null primary key,
    service_key           integer     generated always as identity unique,
    description           text        not null,
    schedule              text        not null,
    default_schedule      text        not null,
    enabled               boolean     not null,
    paused_until          timestamptz,
    pause_reason          text,
    next_run_at           timestamptz,
    last_started_at       timestamptz,
    last_finished_at      timestamptz,
    last_worker           text,
    last_result           jsonb,
    last_error            text,
    consecutive_failures  integer     not null default 0,
    runs                  bigint      not null default 0,
    skipped               bigint      not null default 0
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

comment on table reaper.services is 'What runs by itself, and when. Change it with pause(), resume(), reschedule(), run_now(), enable_service(), disable_service().';
comment on column reaper.services.name is 'The service; policy:NAME for a retention policy.';
comment on column reaper.services.service_key is 'The second key of its advisory lock.';
comment on column reaper.services.description is 'What it does.';
comment on column reaper.services.schedule is 'Cron in UTC, @hourly and the like, or an interval.';
comment on column reaper.services.default_schedule is 'What the release says; where schedule differs, somebody changed it.';
comment on column reaper.services.enabled is 'False: it never runs.';
comment on column reaper.services.paused_until is 'It does not run before this; a pause ends by itself.';
comment on column reaper.services.pause_reason is 'Why it is paused.';
comment on column reaper.services.next_run_at is 'When it is due; null = a worker has still to plan it. A run that was missed is made up for once.';
comment on column reaper.services.last_started_at is 'When the last run began.';
comment on column reaper.services.last_finished_at is 'When the last run ended.';
comment on column reaper.services.last_worker is 'Who ran it.';
comment on column reaper.services.last_result is 'What the last run did.';
comment on column reaper.services.last_error is 'Why the last run failed; null when it did not.';
comment on column reaper.services.consecutive_failures is 'How many runs in a row have failed.';
comment on column reaper.services.runs is 'Runs that ended.';
comment on column reaper.services.skipped is 'Runs that were skipped because another worker was at it.';
comment on table reaper.audit is 'What people did with the schedule and the policies. Never pruned.';
comment on column reaper.audit.audit_id is 'Order.';
comment on column reaper.audit.at is 'When.';
comment on column reaper.audit.who is 'The login that did it.';
comment on column reaper.audit.action is 'What.';
comment on column reaper.audit.subject is 'To what.';
comment on column reaper.audit.reason is 'Why, in their words.';
comment on column reaper.audit.detail is 'With which values.';
comment on table reaper.job_errors is 'Why jobs failed; procrastinate keeps no text.';
comment on column reaper.job_errors.error_id is 'Order.';
comment on column reaper.job_errors.job_id is 'The job.';
comment on column reaper.job_errors.task is 'Its task.';
comment on column reaper.job_errors.attempt is 'Which attempt.';
comment on column reaper.job_errors.error is 'What was raised.';
comment on column reaper.job_errors.at is 'When.';
