-- enable_lifecycle_rule: from now on pastes become due by the rule; a new pass over them begins.
create or replace function reaper.enable_lifecycle_rule(p_name text, p_reason text default null)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    perform reaper_internal.require_known_rule(p_name);
    perform reaper_internal.require_lifecycle_index(p_name);
    update reaper.lifecycle_rules r
       set enabled = true, after_created_at = '-infinity', after_code = '', pass_expired = 0
     where r.name = p_name;
    perform reaper_internal.record_audit('enable_lifecycle_rule', 'lifecycle:' || p_name, p_reason);
end;
$$;
comment on function reaper.enable_lifecycle_rule(text, text) is
    'Lets pastes become due by this rule from the next run of the service lifecycle on. RP005 if there is no such rule, or the table has no index led by created_at.';
revoke all on function reaper.enable_lifecycle_rule(text, text) from public;
grant execute on function reaper.enable_lifecycle_rule(text, text) to reaper_ops;
