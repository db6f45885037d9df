-- disable_policy: from now on purges of the policy delete nothing; a purge that is running finishes.
create or replace function reaper.disable_policy(p_name text, p_reason text default null)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    perform reaper_internal.require_known_policy(p_name);
    update reaper.retention_policies p set enabled = false where p.name = p_name;
    perform reaper_internal.record_audit('disable_policy', 'policy:' || p_name, p_reason);
end;
$$;
comment on function reaper.disable_policy(text, text) is
    'Stops a policy: purge_aged() deletes nothing for it until enable_policy().';
revoke all on function reaper.disable_policy(text, text) from public;
grant execute on function reaper.disable_policy(text, text) to reaper_ops;
