-- enable_policy: from now on purges of the policy delete rows. The caller needs the right to delete from the table, too.
create or replace function reaper.enable_policy(p_name text, p_reason text default null)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_policy   reaper.retention_policies := reaper_internal.require_known_policy(p_name);
    v_problems text[];
    v_fixes    text[];
begin
    perform reaper_internal.require_read_committed();
    select array_agg(r.problem), array_agg(r.fix) into v_problems, v_fixes
      from (select p.problem, p.fix from reaper.policy_problems(p_name) as p
            union
            select p.problem, p.fix from reaper_internal.right_problems(v_policy.table_oid, v_policy.column_name, session_user) as p) as r;
    perform reaper_internal.require_no_problems(p_name, v_problems, v_fixes);
    update reaper.retention_policies p set enabled = true where p.name = p_name;
    -- Its service can be paused and run from now on, also where no worker runs.
    perform reaper_internal.sync_policy_services();
    perform reaper_internal.record_audit('enable_policy', 'policy:' || p_name, p_reason);
end;
$$;
comment on function reaper.enable_policy(text, text) is
    'Lets purge_aged() delete rows for this policy; refuses (RP005) if the policy could not be registered now.';
revoke all on function reaper.enable_policy(text, text) from public;
grant execute on function reaper.enable_policy(text, text) to reaper_ops;
