-- finish_run: record how a run ended. A run with an error counts as failed.
create or replace function reaper.finish_run(p_name text, p_result jsonb, p_error text default null)
    returns void
    language sql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    update reaper.services s
       set last_finished_at     = reaper.clock(),
           last_result          = p_result,
           last_error           = left(p_error, 2000),
           consecutive_failures = case when p_error is null then 0 else s.consecutive_failures + 1 end,
           runs                 = s.runs + 1
     where s.name = p_name;
$$;
comment on function reaper.finish_run(text, jsonb, text) is
    'Records the end of a run: its result, and its error if it failed.';
revoke all on function reaper.finish_run(text, jsonb, text) from public;
grant execute on function reaper.finish_run(text, jsonb, text) to reaper_worker, reaper_ops;
