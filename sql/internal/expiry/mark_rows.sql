-- mark_rows: mark rows that the caller has locked. The UPDATE moves them; they are returned in the order of their new addresses.
create or replace function reaper_internal.mark_rows(p_places tid[], p_now timestamptz)
    returns reaper.locked_pastes
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_marked  reaper.locked_pastes;
begin
    with marked as (
        update reaper.pastes p
           set deletion_status = 'DELETION_IN_PROGRESS', deletion_initiated_at = p_now
         where p.place = any (p_places)
        returning p.short_code, p.place
    )
    select array_agg(m.short_code), array_agg(m.place), null into v_marked from (select * from marked order by marked.place) as m;
    if cardinality(v_marked.codes) is distinct from cardinality(p_places) then
        -- Undoes the marks of the other rows, which have new addresses by now.
        raise exception triggered_data_change_violation using message = 'the UPDATE did not mark the row: a trigger suppresses it';
    end if;
    return v_marked;
end;
$$;
comment on function reaper_internal.mark_rows(tid[], timestamptz) is
    'For claim_expired: marks locked rows DELETION_IN_PROGRESS and returns their codes and new addresses; 27000 if a trigger suppresses the UPDATE of one.';
revoke all on function reaper_internal.mark_rows(tid[], timestamptz) from public;
