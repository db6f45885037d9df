-- is_fresh: whether the snapshot is young enough; one from a time that has not come yet, before the clock was set back, is not.
create or replace function reaper_internal.is_fresh(p_now timestamptz, p_max_age interval)
    returns boolean
    language sql stable
as $$
    select exists (select from reaper.state_snapshot s where s.taken_at > p_now - p_max_age and s.taken_at <= reaper.clock());
$$;
comment on function reaper_internal.is_fresh(timestamptz, interval) is
    'For refresh_state: whether the snapshot is at most p_max_age old.';
revoke all on function reaper_internal.is_fresh(timestamptz, interval) from public;
