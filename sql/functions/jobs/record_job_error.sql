-- record_job_error: store the error text of a job; procrastinate itself keeps none.
create or replace function reaper.record_job_error(p_job_id bigint, p_task text, p_attempt integer, p_error text)
    returns void
    language sql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    insert into reaper.job_errors (job_id, task, attempt, error, at)
    values (p_job_id, p_task, p_attempt, left(coalesce(p_error, 'no error text'), 4000), reaper.clock());
$$;
comment on function reaper.record_job_error(bigint, text, integer, text) is
    'Stores the error text of one attempt of a job.';
revoke all on function reaper.record_job_error(bigint, text, integer, text) from public;
grant execute on function reaper.record_job_error(bigint, text, integer, text) to reaper_worker, reaper_ops;
