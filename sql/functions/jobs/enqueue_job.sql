-- enqueue_job: put a job into procrastinate's queue unless one with the same queueing lock waits already.
-- Checks before it inserts: a rejected insert would write an ERROR into the server's log each time. The priorities let services go before
-- drains, which come back at once while anything is due.
create or replace function reaper.enqueue_job(p_task text, p_lock text, p_args jsonb, p_queue text default 'reaper', p_pause interval default null)
    returns boolean
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, procrastinate, pg_temp
as $$
declare
    v_priority integer := case p_task when 'reaper:tick' then 100 when 'reaper:service' then 50 when 'reaper:purge' then 10 else 0 end;
begin
    if exists (select from procrastinate.procrastinate_jobs j where j.queueing_lock = p_lock and j.status = 'todo') then
        return false;
    end if;
    perform procrastinate.procrastinate_defer_jobs_v1(
        array[row(p_queue, p_task, v_priority, null, p_lock, coalesce(p_args, '{}'),
                  clock_timestamp() + p_pause)::procrastinate.procrastinate_job_to_defer_v1]);
    return true;
exception when unique_violation then
    return false;
end;
$$;
comment on function reaper.enqueue_job(text, text, jsonb, text, interval) is
    'Queues a job with the queueing lock p_lock, to be run after p_pause; false if one with that lock waits already. A job that is running does not count.';
revoke all on function reaper.enqueue_job(text, text, jsonb, text, interval) from public;
grant execute on function reaper.enqueue_job(text, text, jsonb, text, interval) to reaper_worker, reaper_ops;
