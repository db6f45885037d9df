-- reap_due: lock the next due rows and release them, without marking them first.
-- The first attempt waits for nothing: rows and contents that other transactions hold are skipped. Rows are locked in the subtransaction that
-- deletes them (locked outside it, each batch would cost a multixact), so after a failure nothing is held, and the further attempts, which
-- may wait, find the rows that this one saw by their codes. If no row was deleted or blocked, nothing stays locked either: the caller may
-- wait next, and no paste is held during any wait.
create or replace function reaper_internal.reap_due(
    in  p_limit       integer,
    in  p_after       timestamptz,
    in  p_after_code  text,
    in  p_now         timestamptz,
    out release       reaper_internal.release,
    out last_expires  timestamptz,
    out last_code     text
)
    language plpgsql volatile
as $$
declare
    v_due       record;
    v_pastes    reaper_internal.locked_pastes;
    v_attempts  text[] := '{leave_few,wait,leave_all}';
begin
    begin
        v_due := reaper_internal.lock_due(p_limit, p_after, p_after_code, p_now);
        last_expires := v_due.last_expires;
        last_code := v_due.last_code;
        if v_due.codes is null then
            raise no_data_found;  -- Undoes the locks of rows that changed while lock_due came to them.
        end if;
        v_pastes := row(v_due.codes, v_due.places, v_due.hashes);
        release := reaper_internal.release_locked(v_pastes, reaper_internal.lock_contents(v_due.hashes, false), p_now, 'leave_few', null);
        if release.deleted_codes = '{}' and release.rows_blocked = 0 then
            raise no_data_found;  -- Undoes the locks.
        end if;
        return;
    exception
        when no_data_found then
            release := null;
            return;
        when lock_not_available then
            v_attempts := '{wait,leave_all}';
        when others then
            if reaper_internal.is_transient(sqlstate) then
                raise;
            end if;
    end;

    begin
        release := reaper_internal.release_patiently(v_due.codes, v_due.places, false, p_now, v_attempts, null);
        if release.deleted_codes = '{}' and release.rows_blocked = 0 then
            raise no_data_found;  -- Undoes the locks.
        end if;
    exception when no_data_found then
        release := null;
    end;
end;
$$;
comment on function reaper_internal.reap_due(integer, timestamptz, text, timestamptz) is
    'For reap: releases up to p_limit due rows after the cursor. last_code is null if there is none that can be locked; release is null if none of them was released or blocked.';
revoke all on function reaper_internal.reap_due(integer, timestamptz, text, timestamptz) from public;
