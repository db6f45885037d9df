-- return_service_lease: let other workers run the service from now on. The advisory lock is freed explicitly, because a server takes its time
-- to notice that a connection is closed: a run that comes back at once would find the lock held, and be the last.
create or replace function reaper.return_service_lease(p_name text, p_token uuid)
    returns boolean
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
declare
    v_service reaper.services := reaper_internal.lock_service_row(p_name);
begin
    if exists (select from reaper_internal.advisory_lock_holders() as h where h.lock_key = v_service.service_key and h.pid = pg_backend_pid()) then
        perform pg_advisory_unlock(1919246704, v_service.service_key);
    end if;
    update reaper.services s
       set lease_token = null, lease_until = null, lease_worker = null
     where s.name = p_name and s.lease_token = p_token;
    return found;
end;
$$;
comment on function reaper.return_service_lease(text, uuid) is
    'Ends the lease of a service and frees its advisory lock if this session holds it; false if the token is no longer valid.';
revoke all on function reaper.return_service_lease(text, uuid) from public;
grant execute on function reaper.return_service_lease(text, uuid) to reaper_worker, reaper_ops;
