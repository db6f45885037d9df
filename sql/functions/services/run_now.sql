-- run_now: make a service due at the next tick; it runs as scheduled ones do, under the same lock.
create or replace function reaper.run_now(p_name text, p_reason text default null)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_service  reaper.services := reaper_internal.lock_service_row(p_name);
    v_now      timestamptz := reaper.clock();
begin
    if not v_service.enabled then
        raise exception sqlstate 'RP005' using
            message = format('service %s is not enabled', p_name),
            hint    = format('Run first: select reaper.enable_service(%L);', p_name);
    end if;
    perform reaper_internal.require_no_pause(p_name, format('Run first: select reaper.resume(%L);', p_name));
    update reaper.services s set next_run_at = v_now where s.name = p_name;
    perform reaper_internal.record_audit('run_now', p_name, p_reason);
end;
$$;
comment on function reaper.run_now(text, text) is
    'Makes the service due now; a worker starts it within seconds. RP011 if it is paused, RP005 if it is not enabled.';
revoke all on function reaper.run_now(text, text) from public;
grant execute on function reaper.run_now(text, text) to reaper_ops;
