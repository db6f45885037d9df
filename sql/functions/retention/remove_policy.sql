-- remove_policy: delete a policy; the table and its rows stay.
create or replace function reaper.remove_policy(p_name text, p_reason text default null)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    perform reaper_internal.require_known_policy(p_name);
    delete from reaper.retention_policies p where p.name = p_name;
    perform reaper_internal.record_audit('remove_policy', 'policy:' || p_name, p_reason);
end;
$$;
comment on function reaper.remove_policy(text, text) is
    'Deletes a policy. The table and its rows stay.';
revoke all on function reaper.remove_policy(text, text) from public;
grant execute on function reaper.remove_policy(text, text) to reaper_ops;
