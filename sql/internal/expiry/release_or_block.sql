-- release_or_block: release the rows together; if PostgreSQL refuses, halve until each row that cannot be deleted is alone.
-- One bad row costs a few savepoints and never stops a drain. Transient errors (locks, deadlocks, resources) are raised to the caller, who
-- tries the whole batch again. Missing rights, which concern all rows, are found before (require_binding).
-- A reap that released nothing rolls back here, in the subtransaction that took the locks, and not only further out: who waits for a lock of
-- a subtransaction that has ended well waits for the whole transaction, even if the lock is given up meanwhile, and this one may wait next.
create or replace function reaper_internal.release_or_block(
    p_codes    text[],
    p_places   tid[],
    p_marked   boolean,
    p_now      timestamptz,
    p_attempt  text,
    p_statuses jsonb
)
    returns reaper.release
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_half     integer := cardinality(p_codes) / 2;
    v_state    text;
    v_message  text;
    v_nothing  reaper.release := row('{}', '{}', '{}', '{}', '{}', 0, 0);
    v_release  reaper.release := v_nothing;
begin
    begin
        v_release := reaper_internal.release_rows(p_codes, p_places, p_marked, p_now, p_attempt, p_statuses);
        if v_release.deleted_codes = '{}' and v_release.rows_blocked = 0 and (not p_marked or p_attempt = 'leave_some') then
            perform reaper_internal.undo();
        end if;
        return v_release;
    exception
    when sqlstate 'UNDO0' then
        return v_nothing;
    when others or assert_failure then
        v_state := sqlstate;
        v_message := sqlerrm;
        if reaper_internal.is_transient(v_state) then
            raise;
        end if;
    end;

    if v_half = 0 then
        -- A row of a direct release is locked while it is blocked: another one skips it, instead of waiting for this transaction.
        if not p_marked and (reaper_internal.lock_pastes(p_codes, p_places, false, p_now)).codes is null then
            return v_nothing;
        end if;
        v_release := v_nothing;
        v_release.rows_blocked := reaper_internal.block_rows(p_codes, p_now, v_state, v_message, p_statuses);
        if p_marked then
            -- The row may still be marked: the failed attempt released its lock, and another transaction may hold it by now.
            v_release.busy_codes := (reaper_internal.return_rows(p_codes, p_statuses)).busy_codes;
        end if;
        return v_release;
    end if;

    -- Halves would lock contents in any order, and could deadlock with another batch: lock all of them now, and wait for none after that.
    perform reaper_internal.lock_contents(array(select p.content_hash from reaper.pastes p where p.short_code = any (p_codes)), p_attempt = 'wait');
    return reaper_internal.merge_releases(
        reaper_internal.release_or_block(p_codes[:v_half], p_places[:v_half], p_marked, p_now, 'leave_all', p_statuses),
        reaper_internal.release_or_block(p_codes[v_half + 1:], p_places[v_half + 1:], p_marked, p_now, 'leave_all', p_statuses));
end;
$$;
comment on function reaper_internal.release_or_block(text[], tid[], boolean, timestamptz, text, jsonb) is
    'For release_patiently: release_rows on all codes, or on ever smaller parts; rows that PostgreSQL refuses to delete are recorded in reaper.blocked.';
revoke all on function reaper_internal.release_or_block(text[], tid[], boolean, timestamptz, text, jsonb) from public;
