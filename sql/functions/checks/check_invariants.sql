-- check_invariants: everything that must be true at every instant, judged in one snapshot, since stable functions see the snapshot of
-- their caller. Empty if all invariants hold. A binding that does not hold is a finding too; of unbound tables nothing else is known.
-- Reads pastes and content a few times; on large tables run it on a standby or at a quiet hour.
create or replace function reaper.check_invariants()
    returns table (invariant text, subject text, detail text)
    language plpgsql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    return query select 'the binding holds', 'reaper.bindings', p.problem from reaper_internal.binding_problems() as p;
    if to_regclass('reaper.pastes') is not null and to_regclass('reaper.content') is not null then
        return query
            select * from reaper_internal.check_rows()
            union all
            select * from reaper_internal.check_objects()
            union all
            select * from reaper_internal.check_queues()
            union all
            select * from reaper_internal.check_accounts();
    end if;
end;
$$;
comment on function reaper.check_invariants() is
    'Violated invariants: which one, for which subject, and the details. Empty if all hold; read-only, one snapshot.';
revoke all on function reaper.check_invariants() from public;
grant execute on function reaper.check_invariants() to reaper_worker, reaper_ops, reaper_ro;
