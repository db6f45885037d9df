-- rescue_jobs: free the jobs of dead workers, a bounded number at a time, each under a savepoint of its own.
-- A job whose name waits again already is finished as failed: to queue it would violate that name, and did so for ever.
-- A job that lost its worker three times is to blame itself, and is not tried again.
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
           and (w.id is null or w.last_heartbeat < clock_timestamp() - p_silence)
         order by j.id
         limit p_limit
           for update of j skip locked
    loop
        job_id := v_job.id;
        task := v_job.task_name;
        begin
            if v_job.attempts >= 3 then
                outcome := 'failed: its worker died three times';
            else
                perform procrastinate.procrastinate_retry_job_v2(v_job.id, clock_timestamp(), null, null, null);
                outcome := 'queued again';
            end if;
        exception when unique_violation then
            outcome := 'failed: another of its name waits already';
        end;
        if outcome <> 'queued again' then
            perform procrastinate.procrastinate_finish_job_v1(v_job.id, 'failed', false);
        end if;
        perform reaper.record_job_error(v_job.id, v_job.task_name, v_job.attempts, 'its worker died; ' || outcome);
        return next;
    end loop;
end;
$$;
comment on function reaper.rescue_jobs(interval, integer) is
    'Queues jobs of workers again that have been silent for p_silence; fails those whose name waits already and those that lost three workers. Returns what became of each.';
revoke all on function reaper.rescue_jobs(interval, integer) from public;
grant execute on function reaper.rescue_jobs(interval, integer) to reaper_worker, reaper_ops;
