-- require_confirmed_keys: hand out no deletion while it is known that objects do not lie under the bound keys. Released rows are gone, but
-- their batch still names what was to be deleted; settled under wrong keys, that would be lost too.
create or replace function reaper_internal.require_confirmed_keys()
    returns void
    language plpgsql stable
as $$
declare
    v_problem record;
begin
    select p.problem, p.fix into v_problem from reaper_internal.key_problems() as p;
    if found then
        raise exception sqlstate 'RP010' using message = v_problem.problem, hint = v_problem.fix;
    end if;
end;
$$;
comment on function reaper_internal.require_confirmed_keys() is
    'For adopt_batch and claim_cleanup: RP010 if objects were looked for and not found under the bound object keys.';
revoke all on function reaper_internal.require_confirmed_keys() from public;
