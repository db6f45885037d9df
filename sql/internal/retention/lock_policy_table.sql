-- lock_policy_table: lock the table, then check whether it may be purged.
-- The lock keeps it from being renamed, and from getting a trigger or a foreign key, between the check and the deletion.
-- Cascades lock rows of other tables in an unknown order: such purges run one after the other, held apart by rows that no other login can
-- lock; an advisory lock can be taken by any.
create or replace function reaper_internal.lock_policy_table(p_policy text)
    returns void
    language plpgsql volatile
as $$
declare
    v_policy reaper.retention_policies := reaper_internal.require_known_policy(p_policy);
begin
    begin
        execute format('lock table %I.%I in row exclusive mode', v_policy.table_schema, v_policy.table_name);
    exception when undefined_table or invalid_schema_name or insufficient_privilege or wrong_object_type then
        perform reaper_internal.require_policy(p_policy);
        raise;
    end;
    perform reaper_internal.require_policy(p_policy);
    if v_policy.allow_cascade then
        perform from reaper.retention_policies p where p.table_oid = v_policy.table_oid order by p.name for no key update;
    end if;
end;
$$;
comment on function reaper_internal.lock_policy_table(text) is
    'Locks the table of a policy against changes of its definition; raises RP005 if the policy cannot delete from it any more.';
revoke all on function reaper_internal.lock_policy_table(text) from public;
