-- require_service_lease: lock a service's row, and raise RP001 if p_token is no longer the token of its lease. Without a token nothing is
-- required: the service is one that runs without a lease.
create or replace function reaper_internal.require_service_lease(p_name text, p_token uuid)
    returns void
    language plpgsql volatile
as $$
declare
    v_service reaper.services;
begin
    select * into v_service from reaper.services s where s.name = p_name for update;
    if p_token is not null and v_service.lease_token is distinct from p_token then
        perform nextval('reaper.refusals');
        raise exception sqlstate 'RP001' using
            message = format('lease of service %s is no longer held', p_name),
            hint    = 'End the run: the lease expired, and another worker may run the service. Nothing is lost.';
    end if;
end;
$$;
comment on function reaper_internal.require_service_lease(text, uuid) is
    'Locks the row of a service; RP001, counted in reaper.refusals, if p_token is given and is not the token of its lease.';
revoke all on function reaper_internal.require_service_lease(text, uuid) from public;
