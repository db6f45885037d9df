-- remove_lifecycle_rule: delete a lifecycle rule; pastes that became due by it stay due.
create or replace function reaper.remove_lifecycle_rule(p_name text)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    perform reaper_internal.require_known_rule(p_name);
    delete from reaper.lifecycle_rules r where r.name = p_name;
    perform reaper_internal.record_audit('remove_lifecycle_rule', 'lifecycle:' || p_name, null);
end;
$$;
comment on function reaper.remove_lifecycle_rule(text) is
    'Deletes a lifecycle rule; pastes that became due by it before stay due.';
revoke all on function reaper.remove_lifecycle_rule(text) from public;
grant execute on function reaper.remove_lifecycle_rule(text) to reaper_ops;
