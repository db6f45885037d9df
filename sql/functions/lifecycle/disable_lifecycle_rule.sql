-- disable_lifecycle_rule: from now on nothing becomes due by the rule; what is due already stays due.
create or replace function reaper.disable_lifecycle_rule(p_name text, p_reason text default null)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    perform reaper_internal.require_known_rule(p_name);
    update reaper.lifecycle_rules r set enabled = false where r.name = p_name;
    perform reaper_internal.record_audit('disable_lifecycle_rule', 'lifecycle:' || p_name, p_reason);
end;
$$;
comment on function reaper.disable_lifecycle_rule(text, text) is
    'Stops a lifecycle rule; pastes that became due by it before stay due.';
revoke all on function reaper.disable_lifecycle_rule(text, text) from public;
grant execute on function reaper.disable_lifecycle_rule(text, text) to reaper_ops;
