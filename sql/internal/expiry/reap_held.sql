-- reap_held: the last look of a reap from the start: are rows due that were only skipped because other transactions held them? Most often
-- that is another reap, which holds their contents too: these are waited for, with no paste held, and what is still due is released.
-- Reaps that skip each other's rows at the same moment both find nothing, so it looks again, at growing pauses, until the same rows were held
-- in six looks (about half a second): then a session holds on to them.
create or replace function reaper_internal.reap_held(p_limit integer, p_now timestamptz)
    returns reaper.release
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
    set plan_cache_mode = force_custom_plan  -- only a known array is hashed, as in lock_due
as $$
declare
    v_blocked  text[] := array(select b.short_code from reaper.blocked b where b.next_attempt > p_now);
    v_release  reaper.release;
    v_before   text[];
    v_codes    text[];
    v_futile   integer := 0;
begin
    -- What a look waited for may have deleted the rows: the next tells whether they are still held.
    while v_futile < 6 loop
        v_codes := array(select p.short_code
                           from reaper.pastes p
                          where p.expires_at <= p_now
                            and p.deletion_status is distinct from 'DELETION_IN_PROGRESS'
                            and p.short_code <> all (v_blocked)
                          order by p.expires_at, p.short_code
                          limit p_limit);
        if v_codes = '{}' then
            return null;
        end if;
        begin
            v_release := reaper_internal.release_patiently(v_codes, null, false, p_now, '{wait}', null);
            if v_release.deleted_codes = '{}' and v_release.rows_blocked = 0 then
                perform reaper_internal.undo();
            end if;
            return v_release;
        exception when sqlstate 'UNDO0' then
            null;
        end;
        v_futile := case when v_codes = v_before then v_futile + 1 else 1 end;
        v_before := v_codes;
        perform pg_sleep(0.01 * 2 ^ v_futile * random());
    end loop;
    raise lock_not_available using
        message = format('due pastes are locked by other sessions: %s', array_to_string(v_codes[:5], ', ')),
        hint    = 'Try again when these sessions have ended their transactions.';
end;
$$;
comment on function reaper_internal.reap_held(integer, timestamptz) is
    'For reap: waits for the contents of due rows that other transactions hold and releases what is still due; null if nothing is due, 55P03 if they stay held.';
revoke all on function reaper_internal.reap_held(integer, timestamptz) from public;
