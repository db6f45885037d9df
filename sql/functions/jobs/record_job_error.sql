-- record_job_error: why a job failed; procrastinate itself keeps no text.
create or replace function reaper.record_job_error(p_job_id bigint, p_task text, p_attempt integer, p_error text)
    returns void
    language sql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    insert into reaper.job_errors (job_id, task, attempt, error, at)
    values (p_job_id, p_task, p_attempt, left(coalesce(p_error, 'not said'), 4000), reaper.clock());
$$;
comment on function reaper.record_job_error(bigint, text, integer, text) is
    'Keeps the text of a job''s error, per attempt.';
revoke all on function reaper.record_job_error(bigint, text, integer, text) from public;
grant execute on function reaper.record_job_error(bigint, text, integer, text) to reaper_worker, reaper_ops;
