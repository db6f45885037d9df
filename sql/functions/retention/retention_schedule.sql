-- retention_schedule: schedule, batch limit and state of every policy, for the process that starts purges.
create or replace function reaper.retention_schedule()
    returns table (name text, schedule text, batch_limit integer, enabled boolean)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select p.name, p.schedule, p.batch_limit, p.enabled from reaper.retention_policies p order by p.name;
$$;
comment on function reaper.retention_schedule() is
    'Every policy with its schedule, its batch limit and whether it is enabled. A purge that deleted as many rows as its limit is to be followed by another.';
revoke all on function reaper.retention_schedule() from public;
grant execute on function reaper.retention_schedule() to reaper_worker, reaper_ops, reaper_ro;
