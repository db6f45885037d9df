-- mark_or_block: mark rows of which PostgreSQL has refused one: halve until each row that cannot be marked is alone.
-- A trigger, or a constraint that was added NOT VALID, may refuse any UPDATE of an old row. The refusal undid the locks, so the rows are
-- locked again, if they are still due and no other transaction holds them.
create or replace function reaper_internal.mark_or_block(p_codes text[], p_now timestamptz)
    returns reaper.locked_pastes
    language plpgsql volatile
as $$
declare
    v_half     integer := cardinality(p_codes) / 2;
    v_left     reaper.locked_pastes;
    v_right    reaper.locked_pastes;
    v_state    text;
    v_message  text;
begin
    begin
        v_left := reaper_internal.lock_pastes(p_codes, null, false, p_now);
        if v_left.codes is null then
            return row('{}'::text[], '{}'::tid[], null::text[]);
        end if;
        return reaper_internal.mark_rows(v_left.places, p_now);
    exception when others or assert_failure then
        v_state := sqlstate;
        v_message := sqlerrm;
        if reaper_internal.is_transient(v_state) then
            raise;
        end if;
    end;

    if v_half = 0 then
        -- The failed UPDATE is undone: the row has the status that it had, and is no longer locked. It is locked again while it is blocked, so
        -- that another claim skips it, instead of waiting for this transaction.
        if (reaper_internal.lock_pastes(p_codes, null, false, p_now)).codes is null then
            return row('{}'::text[], '{}'::tid[], null::text[]);
        end if;
        perform reaper_internal.block_rows(p_codes, p_now, v_state, v_message, null);
        return row('{}'::text[], '{}'::tid[], null::text[]);
    end if;
    v_left := reaper_internal.mark_or_block(p_codes[:v_half], p_now);
    v_right := reaper_internal.mark_or_block(p_codes[v_half + 1:], p_now);
    return row(v_left.codes || v_right.codes, v_left.places || v_right.places, null::text[]);
end;
$$;
comment on function reaper_internal.mark_or_block(text[], timestamptz) is
    'For mark_due: marks those of the rows that are due, not marked and not held, and returns them with their new addresses; rows that PostgreSQL refuses to mark are recorded in reaper.blocked.';
revoke all on function reaper_internal.mark_or_block(text[], timestamptz) from public;
