-- extend_service_lease: keep a lease for another 15 seconds. An expired lease that no other worker has taken is still its holder's.
create or replace function reaper.extend_service_lease(p_name text, p_token uuid)
    returns boolean
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
begin
    perform reaper_internal.lock_service_row(p_name);
    update reaper.services s
       set lease_until = reaper.clock() + interval '15 seconds'
     where s.name = p_name and s.lease_token = p_token;
    return found;
end;
$$;
comment on function reaper.extend_service_lease(text, uuid) is
    'Extends the lease of a service to 15 seconds from now; false if the token is no longer valid: end the run.';
revoke all on function reaper.extend_service_lease(text, uuid) from public;
grant execute on function reaper.extend_service_lease(text, uuid) to reaper_worker, reaper_ops;
