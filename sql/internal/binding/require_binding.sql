-- require_binding: refuse to touch rows unless the views read the tables that are bound, and the foreign key protects content.
-- A claim and a drop ask at their start, so that they lock reaper.bindings, then the tables, then the views, as bind() and unbind() do: no
-- deadlock, and what was found holds until the transaction ends.
create or replace function reaper_internal.require_binding(p_locked text[] default '{content,pastes}')
    returns void
    language plpgsql volatile
    set plan_cache_mode = auto  -- a claim plans everything anew; this need not be
as $$
declare
    v_problem record;
begin
    -- A statement of its own, so that the next one sees what the transaction did that this one waited for.
    lock table reaper.bindings in access share mode;
    perform reaper_internal.lock_bound_tables(p_locked);
    select p.problem, p.fix into v_problem from reaper_internal.binding_problems() as p limit 1;
    if found then
        raise exception sqlstate 'RP010' using message = v_problem.problem, hint = v_problem.fix;
    end if;
end;
$$;
comment on function reaper_internal.require_binding(text[]) is
    'Locks the bound tables that the caller is about to write and raises RP010 with the first of binding_problems().';
revoke all on function reaper_internal.require_binding(text[]) from public;
