-- enabled_lifecycle_rules: the names of the rules that are applied, in order; for the service lifecycle, which is idle without one.
create or replace function reaper.enabled_lifecycle_rules()
    returns table (name text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select r.name from reaper.lifecycle_rules r where r.enabled order by r.name;
$$;
comment on function reaper.enabled_lifecycle_rules() is
    'Names of the enabled lifecycle rules.';
revoke all on function reaper.enabled_lifecycle_rules() from public;
grant execute on function reaper.enabled_lifecycle_rules() to reaper_worker, reaper_ops, reaper_ro;
