-- resume: end a pause early.
create or replace function reaper.resume(p_name text, p_reason text default null)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    perform reaper_internal.lock_service_row(p_name);
    update reaper.services s set paused_until = null, pause_reason = null where s.name = p_name;
    perform reaper_internal.record_audit('resume', p_name, p_reason);
end;
$$;
comment on function reaper.resume(text, text) is
    'Ends a pause; a run missed during the pause starts at once.';
revoke all on function reaper.resume(text, text) from public;
grant execute on function reaper.resume(text, text) to reaper_ops;
