-- begin_sweep: may the sweep look at its next window, and where? The row of the cursor is locked by the caller.
create or replace function reaper_internal.begin_sweep(p_sweep reaper.copy_sweep, p_now timestamptz)
    returns boolean
    language plpgsql volatile
as $$
declare
    v_fingerprint  text := reaper_internal.sweep_fingerprint(p_now);
    v_changed      boolean := v_fingerprint <> p_sweep.fingerprint;
begin
    if not v_changed and (p_sweep.finished_at > p_now - interval '1 hour' or (p_sweep.finished_at is not null and v_fingerprint = '1||')) then
        return false;
    end if;
    -- Along copy_wants_due: what waits for room may be many more, and this is asked at each window.
    if (select count(*)
          from (select from generate_series(0, 16) as g (good)
                 cross join lateral (select from reaper.copy_wants w where w.good = g.good and w.next_attempt <= p_now limit 100000) as w
                 limit 100000) as due) = 100000
    then
        return false;
    end if;
    if v_changed or p_sweep.finished_at is not null then
        update reaper.copy_sweep w
           set fingerprint = v_fingerprint, after_hash = '', started_at = p_now, finished_at = null, looked_at = 0, wanted = 0;
    end if;
    return true;
end;
$$;
comment on function reaper_internal.begin_sweep(reaper.copy_sweep, timestamptz) is
    'For sweep_copies: whether there is something to look at; begins a new pass where one is due.';
revoke all on function reaper_internal.begin_sweep(reaper.copy_sweep, timestamptz) from public;
