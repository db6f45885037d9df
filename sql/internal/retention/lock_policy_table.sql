-- lock_policy_table: keep the table as it is, then look whether it may be purged.
-- With this lock nobody can rename it, add a trigger or a foreign key to it between the look and the deletion.
-- Cascades lock rows of other tables in an order that nobody chose: such purges go one after the other.
create or replace function reaper_internal.lock_policy_table(p_policy text)
    returns void
    language plpgsql volatile
as $$
declare
    c_retention constant integer := 1919251553;  -- our class of advisory locks
    v_policy    reaper.retention_policies := reaper_internal.require_known_policy(p_policy);
begin
    begin
        execute format('lock table %I.%I in row exclusive mode', v_policy.table_schema, v_policy.table_name);
    exception when undefined_table or invalid_schema_name or insufficient_privilege or wrong_object_type then
        perform reaper_internal.require_policy(p_policy);
        raise;
    end;
    perform reaper_internal.require_policy(p_policy);
    if v_policy.allow_cascade then
        perform pg_advisory_xact_lock(c_retention, v_policy.table_oid::integer);
    end if;
end;
$$;
comment on function reaper_internal.lock_policy_table(text) is
    'Locks the table of a policy against changes of its definition; raises RP005 when the policy cannot delete from it any more.';
revoke all on function reaper_internal.lock_policy_table(text) from public;
