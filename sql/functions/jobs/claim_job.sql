-- claim_job: give a worker its next job, as procrastinate_fetch_job_v2 does, but of the named tasks only.
-- A worker that takes a job of a task that it does not know fails it: without this, ours failed the jobs of other applications in the queue.
create or replace function reaper.claim_job(p_tasks text[], p_queues text[], p_worker bigint)
    returns table (id bigint, status text, task_name text, priority integer, lock text, queueing_lock text, args jsonb, scheduled_at timestamptz,
                   queue_name text, attempts integer, worker_id bigint)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, procrastinate, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with candidate as materialized (
        select j.id
          from procrastinate.procrastinate_jobs j
         where j.status = 'todo'
           and j.task_name = any (p_tasks)
           and (p_queues is null or j.queue_name = any (p_queues))
           and (j.scheduled_at is null or j.scheduled_at <= clock_timestamp())
           -- Of one lock only the first may run: two at once would violate its unique index.
           and not exists (select
                             from procrastinate.procrastinate_jobs o
                            where o.lock = j.lock
                              and (o.status = 'doing'
                                   or (o.status = 'todo' and (o.priority > j.priority or (o.priority = j.priority and o.id < j.id)))))
         order by j.priority desc, j.id
         limit 1
           for update of j skip locked
    )
    update procrastinate.procrastinate_jobs j
       set status = 'doing', worker_id = p_worker
      from candidate c
     where j.id = c.id
    returning j.id, j.status::text, j.task_name::text, j.priority, j.lock::text, j.queueing_lock::text, j.args, j.scheduled_at, j.queue_name::text,
              j.attempts, j.worker_id;
end;
$$;
comment on function reaper.claim_job(text[], text[], bigint) is
    'Marks the next waiting job of the given tasks and queues (null = all queues) as taken by procrastinate''s worker p_worker and returns it; no row if none waits.';
revoke all on function reaper.claim_job(text[], text[], bigint) from public;
grant execute on function reaper.claim_job(text[], text[], bigint) to reaper_worker;
