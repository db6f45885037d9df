-- begin_run: record that a worker starts a run; with the token of a lost lease, nothing is recorded (RP001).
create or replace function reaper.begin_run(p_name text, p_worker text, p_token uuid default null)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    perform reaper_internal.require_service_lease(p_name, p_token);
    update reaper.services s set last_started_at = reaper.clock(), last_worker = p_worker, waiting_since = null where s.name = p_name;
end;
$$;
comment on function reaper.begin_run(text, text, uuid) is
    'Records that p_worker starts a run of the service. p_token: the lease, for services that need one; RP001 if it is no longer held.';
revoke all on function reaper.begin_run(text, text, uuid) from public;
grant execute on function reaper.begin_run(text, text, uuid) to reaper_worker, reaper_ops;
