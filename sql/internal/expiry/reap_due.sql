-- reap_due: lock the next due rows and release them, without marking them first.
-- The first attempt waits for nothing: rows and contents that other transactions hold are skipped. Rows are locked in the subtransaction that
-- deletes them (locked outside it, each batch would cost a multixact), so after a failure nothing is held, and the second attempt, which may
-- wait for contents, finds the rows that the first one saw by their codes. If no row was released or blocked, nothing stays locked: the
-- caller may wait next, and no paste is held during a wait for content.
create or replace function reaper_internal.reap_due(
    in  p_limit       integer,
    in  p_after       timestamptz,
    in  p_after_code  text,
    in  p_now         timestamptz,
    in  p_may_wait    boolean,
    out release       reaper.release,
    out last_expires  timestamptz,
    out last_code     text
)
    language plpgsql volatile
as $$
declare
    v_due       record;
    v_codes     text[];
    v_places    tid[];
    v_attempts  text[] := '{leave_all}';
begin
    begin
        v_due := reaper_internal.lock_due(p_limit, p_after, p_after_code, p_now);
        if v_due.codes is null then
            perform reaper_internal.undo();  -- rows that changed while lock_due came to them are locked
        end if;
        last_expires := v_due.last_expires;
        last_code := v_due.last_code;
        v_codes := v_due.codes;
        v_places := v_due.places;
        release := reaper_internal.release_locked(
            row(v_codes, v_places, v_due.hashes), reaper_internal.lock_contents(v_due.hashes, false), p_now, 'leave_few', null);
        if release.deleted_codes = '{}' and release.rows_blocked = 0 then
            perform reaper_internal.undo();
        end if;
        return;
    exception
        when sqlstate 'UNDO0' then
            release := null;
            return;
        when lock_not_available then
            if p_may_wait then
                v_attempts := '{wait,leave_all}';
            end if;
        when others or assert_failure then
            -- An error before any row was seen is no fault of a row.
            if v_codes is null or reaper_internal.is_transient(sqlstate) then
                raise;
            end if;
    end;

    begin
        release := reaper_internal.release_patiently(v_codes, v_places, false, p_now, v_attempts, null);
        if release.deleted_codes = '{}' and release.rows_blocked = 0 then
            perform reaper_internal.undo();
        end if;
    exception when sqlstate 'UNDO0' or lock_not_available then
        -- What the DELETE itself needs may be locked, such as a row that refers to the paste; the rows behind need not wait for it.
        release := null;
    end;
end;
$$;
comment on function reaper_internal.reap_due(integer, timestamptz, text, timestamptz, boolean) is
    'For reap: releases up to p_limit due rows after the cursor. last_code is null if there is none that can be locked; release is null if none of them was released or blocked. Contents are waited for only if p_may_wait.';
revoke all on function reaper_internal.reap_due(integer, timestamptz, text, timestamptz, boolean) from public;
