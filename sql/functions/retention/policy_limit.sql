-- policy_limit: maximum number of rows per purge of a policy. A purge that deleted as many is followed by another.
create or replace function reaper.policy_limit(p_policy text)
    returns integer
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select p.batch_limit from reaper.retention_schedule() as p where p.name = p_policy;
$$;
comment on function reaper.policy_limit(text) is
    'Batch limit of a policy; null if there is no policy of that name.';
revoke all on function reaper.policy_limit(text) from public;
grant execute on function reaper.policy_limit(text) to reaper_worker, reaper_ops, reaper_ro;
