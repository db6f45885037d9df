-- enable_service: switch a service on.
create or replace function reaper.enable_service(p_name text, p_reason text default null)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    perform reaper_internal.lock_service_row(p_name);
    -- What was missed counts from now on: a run that starts at once is not late.
    update reaper.services s
       set enabled = true, waiting_since = null, recent_starts = '{}', unplanned_since = reaper.clock(),
           next_run_at = reaper_internal.start_of_run(s.next_run_at, reaper.clock())
     where s.name = p_name and not s.enabled;
    perform reaper_internal.record_audit('enable', p_name, p_reason);
end;
$$;
comment on function reaper.enable_service(text, text) is
    'Switches the service on; it runs when it is next due.';
revoke all on function reaper.enable_service(text, text) from public;
grant execute on function reaper.enable_service(text, text) to reaper_ops;
