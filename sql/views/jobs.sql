-- jobs: jobs of our tasks in procrastinate's queue, their state and last error.
create or replace view reaper.jobs as
    select j.id as job_id,
           j.task_name as task,
           j.queueing_lock as lock,
           j.status::text as status,
           j.attempts,
           coalesce(w.last_heartbeat > clock_timestamp() - interval '120 seconds', false) as worker_alive,
           (select max(e.at) from procrastinate.procrastinate_events e where e.job_id = j.id) as since,
           (select r.error from reaper.job_errors r where r.job_id = j.id order by r.error_id desc limit 1) as last_error,
           j.status = 'doing' and not coalesce(w.last_heartbeat > clock_timestamp() - interval '120 seconds', false) as wedged
      from procrastinate.procrastinate_jobs j
      left join procrastinate.procrastinate_workers w on w.id = j.worker_id
     where starts_with(j.task_name, 'reaper:')
     order by j.id;
comment on view reaper.jobs is 'Jobs of reaper''s tasks in procrastinate''s queue. A wedged job has status doing but no live worker: rescue_jobs queues it again.';
comment on column reaper.jobs.job_id is 'Id of the job in procrastinate.';
comment on column reaper.jobs.task is 'Task that the job runs.';
comment on column reaper.jobs.lock is 'Queueing lock: at most one job with this lock waits.';
comment on column reaper.jobs.status is 'todo, doing, succeeded, failed, cancelled or aborted.';
comment on column reaper.jobs.attempts is 'Number of attempts.';
comment on column reaper.jobs.worker_alive is 'Whether the worker that runs the job sends heartbeats.';
comment on column reaper.jobs.since is 'When the status last changed.';
comment on column reaper.jobs.last_error is 'Error of the last failed attempt.';
comment on column reaper.jobs.wedged is 'Whether the job has status doing and its worker is dead.';
revoke all on reaper.jobs from public;
grant select on reaper.jobs to reaper_worker, reaper_ops, reaper_ro;
