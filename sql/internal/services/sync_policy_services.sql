-- sync_policy_services: keep one service per enabled retention policy, and none for the others; a pause outlives the policy that it stops.
create or replace function reaper_internal.sync_policy_services()
    returns void
    language plpgsql volatile
as $$
begin
    delete from reaper.services s
     where s.name like 'policy:%'
       and coalesce(s.paused_until <= reaper.clock(), true)
       and not exists (select from reaper.retention_schedule() as p where p.enabled and s.name = 'policy:' || p.name);
    perform reaper.register_service('policy:' || p.name, p.schedule, 'deletes old rows by retention policy ' || p.name)
       from reaper.retention_schedule() as p
      where p.enabled;
end;
$$;
comment on function reaper_internal.sync_policy_services() is
    'Keeps one service per enabled retention policy.';
revoke all on function reaper_internal.sync_policy_services() from public;
