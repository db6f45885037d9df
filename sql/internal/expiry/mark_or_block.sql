-- mark_or_block: mark the rows of a claim together; if PostgreSQL refuses, halve until each row that cannot be marked is alone.
-- A trigger, or a constraint that was added NOT VALID, may refuse any UPDATE of an old row.
-- The caller holds the rows, so they are found by their addresses; the UPDATE moves them, and they are returned in the order of their new
-- addresses.
create or replace function reaper_internal.mark_or_block(
    in  p_codes   text[],
    in  p_places  tid[],
    in  p_now     timestamptz,
    out codes     text[],
    out places    tid[]
)
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_half     integer := cardinality(p_codes) / 2;
    v_left     record;
    v_right    record;
    v_state    text;
    v_message  text;
begin
    begin
        with marked as (
            update reaper.pastes p
               set deletion_status = 'DELETION_IN_PROGRESS', deletion_initiated_at = p_now
             where p.place = any (p_places)
            returning p.short_code, p.place
        )
        select array_agg(m.short_code), array_agg(m.place) into codes, places from (select * from marked order by marked.place) as m;
        if cardinality(codes) = cardinality(p_codes) then
            return;
        end if;
        -- Undoes the marks of the other rows, which have new addresses by now.
        raise exception triggered_data_change_violation using message = 'the UPDATE did not mark the row: a trigger suppresses it';
    exception when others then
        v_state := sqlstate;
        v_message := sqlerrm;
        if reaper_internal.is_transient(v_state) then
            raise;
        end if;
    end;

    if v_half = 0 then
        -- The failed UPDATE is undone: the row has the status that it had.
        perform reaper_internal.block_rows(p_codes, p_now, v_state, v_message, null);
        codes := '{}';
        places := '{}';
        return;
    end if;
    v_left := reaper_internal.mark_or_block(p_codes[:v_half], p_places[:v_half], p_now);
    v_right := reaper_internal.mark_or_block(p_codes[v_half + 1:], p_places[v_half + 1:], p_now);
    codes := v_left.codes || v_right.codes;
    places := v_left.places || v_right.places;
end;
$$;
comment on function reaper_internal.mark_or_block(text[], tid[], timestamptz) is
    'For claim_expired: marks rows that the caller has locked and returns them with their new addresses; rows that PostgreSQL refuses to mark are recorded in reaper.blocked.';
revoke all on function reaper_internal.mark_or_block(text[], tid[], timestamptz) from public;
