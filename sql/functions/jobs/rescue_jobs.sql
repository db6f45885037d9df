-- rescue_jobs: queue the jobs of our tasks again whose workers died, a bounded number per call, each under a savepoint of its own.
-- A worker died if procrastinate does not hear of it, or, after a missed heartbeat, if the session of its heartbeat is gone: a killed process
-- loses it at once. Should it live all the same, its job runs twice, which does no harm.
-- If a job with the same queueing lock waits already, the job is marked failed: queueing it would violate the lock's unique index each time.
-- A job whose worker died three times is marked failed, since the job itself may be the cause.
create or replace function reaper.rescue_jobs(p_silence interval default '120 seconds', p_limit integer default 100)
    returns table (job_id bigint, task text, outcome text)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, procrastinate, pg_temp
as $$
declare
    v_job record;
begin
    for v_job in
        select j.id, j.task_name, j.attempts
          from procrastinate.procrastinate_jobs j
          left join procrastinate.procrastinate_workers w on w.id = j.worker_id
         where j.status = 'doing'
           and starts_with(j.task_name, 'reaper:')
           and (w.id is null
                or w.last_heartbeat < clock_timestamp() - p_silence
                or exists (select
                             from reaper.workers p
                            where p.queue_worker = j.worker_id
                              and p.beat_at < reaper.clock() - interval '15 seconds'
                              and not exists (select from pg_catalog.pg_stat_activity a where a.pid = p.session_pid)))
         order by j.id
         limit p_limit
           for update of j skip locked
    loop
        job_id := v_job.id;
        task := v_job.task_name;
        begin
            if v_job.attempts >= 3 then
                outcome := 'failed: three workers died while running it';
            else
                perform procrastinate.procrastinate_retry_job_v2(v_job.id, clock_timestamp(), null, null, null);
                outcome := 'queued again';
            end if;
        exception when unique_violation then
            outcome := 'failed: another job with the same queueing lock waits';
        end;
        if outcome <> 'queued again' then
            perform procrastinate.procrastinate_finish_job_v1(v_job.id, 'failed', false);
        end if;
        perform reaper.record_job_error(v_job.id, v_job.task_name, v_job.attempts, 'worker died; ' || outcome);
        return next;
    end loop;
end;
$$;
comment on function reaper.rescue_jobs(interval, integer) is
    'Queues jobs of reaper''s tasks again whose worker sent no heartbeat for p_silence, or whose process is gone; marks a job failed if another with the same queueing lock waits, or if three workers died while running it. Returns the outcome of each.';
revoke all on function reaper.rescue_jobs(interval, integer) from public;
grant execute on function reaper.rescue_jobs(interval, integer) to reaper_worker, reaper_ops;
