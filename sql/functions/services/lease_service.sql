-- lease_service: be the only one that runs a service, for 15 seconds at a time. The token in the row decides; the clock is read after the
-- wait for the row, so that a lease extended meanwhile is not taken for expired.
-- The session advisory lock is taken too, for programs that look at it. Any login can hold it, so only that of a login that may run services counts.
create or replace function reaper.lease_service(p_name text, p_worker text)
    returns uuid
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
declare
    v_service  reaper.services := reaper_internal.lock_service_row(p_name);
    v_now      timestamptz := reaper.clock();
    v_token    uuid := gen_random_uuid();
begin
    perform reaper_internal.require_worker(p_worker);
    -- A lease that ends later than any could was given before the server's clock was set back.
    if v_service.lease_until > v_now and v_service.lease_until <= v_now + interval '15 seconds' then
        return null;
    end if;
    if not pg_try_advisory_lock(1919246704, v_service.service_key)
        and exists (select from reaper_internal.advisory_lock_holders() as h where h.lock_key = v_service.service_key and h.runs_services)
    then
        return null;
    end if;
    update reaper.services s
       set lease_token = v_token, lease_until = v_now + interval '15 seconds', lease_worker = p_worker
     where s.name = p_name;
    return v_token;
end;
$$;
comment on function reaper.lease_service(text, text) is
    'Leases the service to p_worker for 15 seconds and takes its session advisory lock; returns the token, or null if another worker holds either. '
    'A lock held by a login that is not a member of reaper_worker or reaper_ops does not count. Extend the lease every 5 seconds, then call return_service_lease.';
revoke all on function reaper.lease_service(text, text) from public;
grant execute on function reaper.lease_service(text, text) to reaper_worker, reaper_ops;
