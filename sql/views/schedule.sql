-- schedule: every service, when it runs, who paused it, how its last run ended.
create or replace view reaper.schedule as
    select s.name, s.description, s.schedule, s.enabled, s.paused_until, s.paused_by, s.pause_reason, s.next_run_at, s.last_started_at,
           s.last_finished_at, s.last_worker, s.last_result, s.last_error, s.consecutive_failures, s.runs, s.skipped
      from reaper.services s
     order by s.name;
comment on view reaper.schedule is 'Services: when they run, pauses, and how the last run ended.';
comment on column reaper.schedule.name is 'Name of the service; policy:NAME for a retention policy.';
comment on column reaper.schedule.description is 'What the service does.';
comment on column reaper.schedule.schedule is 'When the service runs: cron in settings.time_zone, @hourly and the like, or an interval.';
comment on column reaper.schedule.enabled is 'Whether the service runs; false: never.';
comment on column reaper.schedule.paused_until is 'End of the pause: the service does not run before this time.';
comment on column reaper.schedule.paused_by is 'Login that paused the service.';
comment on column reaper.schedule.pause_reason is 'Why the service is paused.';
comment on column reaper.schedule.next_run_at is 'When the service is due; null = not planned by a worker yet.';
comment on column reaper.schedule.last_started_at is 'When the last run started.';
comment on column reaper.schedule.last_finished_at is 'When the last run ended.';
comment on column reaper.schedule.last_worker is 'Worker that started the last run.';
comment on column reaper.schedule.last_result is 'Figures of the last run.';
comment on column reaper.schedule.last_error is 'Error of the last run; null if it succeeded.';
comment on column reaper.schedule.consecutive_failures is 'Number of runs that failed since the last success.';
comment on column reaper.schedule.runs is 'Number of runs that ended.';
comment on column reaper.schedule.skipped is 'Number of runs skipped because another worker held the service lock.';
revoke all on reaper.schedule from public;
grant select on reaper.schedule to reaper_worker, reaper_ops, reaper_ro;
