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
    if not v_service.enabled or v_service.paused_until > v_now then
        raise exception sqlstate 'RP005' using
            message = case when v_service.enabled then format('service %s is paused until %s: %s', p_name, v_service.paused_until, v_service.pause_reason)
                           else format('service %s is not enabled', p_name) end,
            hint    = case when v_service.enabled then format('Run first: select reaper.resume(%L);', p_name)
                           else format('Run first: select reaper.enable_service(%L);', p_name) end;
    end if;
    update reaper.services s set next_run_at = v_now where s.name = p_name;
    perform reaper_internal.record_audit('run_now', p_name, p_reason);
end;
$$;
comment on function reaper.run_now(text, text) is
    'Makes the service due now; a worker starts it within seconds. RP005 if it is paused or not enabled.';
revoke all on function reaper.run_now(text, text) from public;
grant execute on function reaper.run_now(text, text) to reaper_ops;
