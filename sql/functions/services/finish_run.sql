-- finish_run: record how a run ended. Starts that came while it ran were skipped, and wait no longer. A run with an error counts as failed. With the token of a lost lease, nothing is recorded (RP001).
create or replace function reaper.finish_run(p_name text, p_result jsonb, p_error text default null, p_token uuid default null)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_failures integer;
begin
    perform reaper_internal.require_service_lease(p_name, p_token);
    select s.consecutive_failures into v_failures from reaper.services s where s.name = p_name;
    update reaper.services s
       set last_finished_at     = reaper.clock(),
           waiting_since        = null,
           last_success_at      = case when p_error is null then reaper.clock() else s.last_success_at end,
           last_result          = p_result,
           last_error           = left(p_error, 2000),
           consecutive_failures = case when p_error is null then 0 else s.consecutive_failures + 1 end,
           runs                 = s.runs + 1
     where s.name = p_name;
    perform reaper_internal.emit_run(p_name, v_failures, p_error);
end;
$$;
comment on function reaper.finish_run(text, jsonb, text, uuid) is
    'Records the end of a run: its result, and its error if it failed. p_token: the lease, for services that need one; RP001 if it is no longer held.';
revoke all on function reaper.finish_run(text, jsonb, text, uuid) from public;
grant execute on function reaper.finish_run(text, jsonb, text, uuid) to reaper_worker, reaper_ops;
