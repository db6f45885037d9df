-- schedule: every service, when it runs, who paused it, how its last run ended.
create or replace view reaper.schedule as
    select s.name, s.description, s.schedule, s.enabled, s.paused_until, s.pause_reason, s.next_run_at, s.last_started_at,
           s.last_finished_at, s.last_worker, s.last_result, s.last_error, s.consecutive_failures, s.runs, s.skipped
      from reaper.services s
     order by s.name;
comment on view reaper.schedule is 'Services: when they run, pauses, and how the last run ended.';
comment on column reaper.schedule.name is 'The service; policy:NAME for a retention policy.';
comment on column reaper.schedule.description is 'What it does.';
comment on column reaper.schedule.schedule is 'Cron in UTC, @hourly and the like, or an interval.';
comment on column reaper.schedule.enabled is 'False: it never runs.';
comment on column reaper.schedule.paused_until is 'It does not run before this.';
comment on column reaper.schedule.pause_reason is 'Why it is paused.';
comment on column reaper.schedule.next_run_at is 'When it is due.';
comment on column reaper.schedule.last_started_at is 'When the last run began.';
comment on column reaper.schedule.last_finished_at is 'When the last run ended.';
comment on column reaper.schedule.last_worker is 'Who ran it.';
comment on column reaper.schedule.last_result is 'What the last run did.';
comment on column reaper.schedule.last_error is 'Why the last run failed; null when it did not.';
comment on column reaper.schedule.consecutive_failures is 'How many runs in a row have failed.';
comment on column reaper.schedule.runs is 'Runs that ended.';
comment on column reaper.schedule.skipped is 'Runs that were skipped because another worker was at it.';
revoke all on reaper.schedule from public;
grant select on reaper.schedule to reaper_worker, reaper_ops, reaper_ro;
