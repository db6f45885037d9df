-- require_policy: refuse a policy that has problems, such as a table that changed since it was registered.
create or replace function reaper_internal.require_policy(p_policy text)
    returns void
    language plpgsql stable
as $$
declare
    v_problems text[];
    v_fixes    text[];
begin
    select array_agg(p.problem), array_agg(p.fix) into v_problems, v_fixes from reaper.policy_problems(p_policy) as p;
    perform reaper_internal.require_no_problems(p_policy, v_problems, v_fixes);
end;
$$;
comment on function reaper_internal.require_policy(text) is
    'Raises RP005 if reaper.policy_problems() returns any.';
revoke all on function reaper_internal.require_policy(text) from public;
