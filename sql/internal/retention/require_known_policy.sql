-- require_known_policy: the policy of this name; the error for an unknown name says how to list them.
create or replace function reaper_internal.require_known_policy(p_policy text)
    returns reaper.retention_policies
    language plpgsql stable
as $$
declare
    v_policy reaper.retention_policies;
begin
    select * into v_policy from reaper.retention_policies p where p.name = p_policy;
    if not found then
        raise exception sqlstate 'RP005' using
            message = format('there is no retention policy %s', coalesce(p_policy, '(null)')),
            hint    = 'List the policies with: select name from reaper.policies (reaper policy list). Create one with reaper.add_retention_policy().';
    end if;
    return v_policy;
end;
$$;
comment on function reaper_internal.require_known_policy(text) is
    'The retention policy of this name; raises RP005 if there is none.';
revoke all on function reaper_internal.require_known_policy(text) from public;
