-- disable_service: switch a service off.
create or replace function reaper.disable_service(p_name text, p_reason text default null)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    perform reaper_internal.lock_service_row(p_name);
    update reaper.services s set enabled = false where s.name = p_name;
    perform reaper_internal.record_audit('disable', p_name, p_reason);
end;
$$;
comment on function reaper.disable_service(text, text) is
    'Switches the service off until enable_service() is called.';
revoke all on function reaper.disable_service(text, text) from public;
grant execute on function reaper.disable_service(text, text) to reaper_ops;
