-- mark_or_block: mark the rows of a claim together; where PostgreSQL refuses, halve until the rows that cannot be marked
-- stand alone. A trigger, or a constraint that was added NOT VALID, may refuse any UPDATE of an old row.
-- The caller holds the rows, so they are found by their places, and stay there until they are marked.
create or replace function reaper.mark_or_block(p_codes text[], p_places tid[], p_now timestamptz)
    returns text[]
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_half     integer := cardinality(p_codes) / 2;
    v_marked   integer;
    v_state    text;
    v_message  text;
begin
    begin
        update public.pastes p
           set deletion_status = 'DELETION_IN_PROGRESS', deletion_initiated_at = p_now
         where p.ctid = any (p_places);
        get diagnostics v_marked = row_count;
        if v_marked = cardinality(p_codes) then
            return p_codes;
        end if;
        -- Undoes the marks of the others, which would be found in other places by now.
        raise exception triggered_data_change_violation using message = 'the row was not marked by its UPDATE: a trigger prevents it';
    exception when others then
        v_state := sqlstate;
        v_message := sqlerrm;
        if reaper.is_transient(v_state) then
            raise;
        end if;
    end;

    if v_half = 0 then
        perform reaper.block_rows(p_codes, p_now, v_state, v_message);
        return '{}';
    end if;
    return reaper.mark_or_block(p_codes[:v_half], p_places[:v_half], p_now)
        || reaper.mark_or_block(p_codes[v_half + 1:], p_places[v_half + 1:], p_now);
end;
$$;
comment on function reaper.mark_or_block(text[], tid[], timestamptz) is
    'Internal to claim_expired: marks rows that the caller has locked and returns them; those that PostgreSQL refuses to mark go into reaper.blocked.';
revoke all on function reaper.mark_or_block(text[], tid[], timestamptz) from public;
