-- jobs: what waits and runs in procrastinate's queue, what failed, and why.
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
     order by j.id;
comment on view reaper.jobs is 'The jobs in the queue. A wedged one runs on no living worker: rescue_jobs frees it.';
comment on column reaper.jobs.job_id is 'Its number in procrastinate.';
comment on column reaper.jobs.task is 'What it runs.';
comment on column reaper.jobs.lock is 'Its name: of each name one waits at most.';
comment on column reaper.jobs.status is 'todo, doing, succeeded, failed, cancelled or aborted.';
comment on column reaper.jobs.attempts is 'How often it was tried.';
comment on column reaper.jobs.worker_alive is 'Whether the worker that has it lives.';
comment on column reaper.jobs.since is 'When its status last changed.';
comment on column reaper.jobs.last_error is 'Why it failed last.';
comment on column reaper.jobs.wedged is 'Whether it runs on a worker that is dead.';
revoke all on reaper.jobs from public;
grant select on reaper.jobs to reaper_worker, reaper_ops, reaper_ro;
