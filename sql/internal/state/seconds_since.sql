-- seconds_since: an age in seconds; 0 where there is nothing.
create or replace function reaper_internal.seconds_since(p_now timestamptz, p_at timestamptz)
    returns numeric
    language sql immutable
as $$
    select case when isfinite(p_at) then greatest(extract(epoch from p_now - p_at), 0) else 0 end;
$$;
comment on function reaper_internal.seconds_since(timestamptz, timestamptz) is
    'For the state gauges: seconds from p_at to p_now; 0 if p_at is null or infinite.';
revoke all on function reaper_internal.seconds_since(timestamptz, timestamptz) from public;
