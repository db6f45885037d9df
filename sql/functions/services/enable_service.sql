-- enable_service: switch a service on.
create or replace function reaper.enable_service(p_name text, p_reason text default null)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    perform reaper_internal.lock_service_row(p_name);
    update reaper.services s set enabled = true where s.name = p_name;
    perform reaper_internal.record_audit('enable', p_name, p_reason);
end;
$$;
comment on function reaper.enable_service(text, text) is
    'Switches the service on; it runs when it is next due.';
revoke all on function reaper.enable_service(text, text) from public;
grant execute on function reaper.enable_service(text, text) to reaper_ops;
