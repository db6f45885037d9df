-- start_of_run: when a run that was planned for p_planned starts: a pause moves it to its own end.
create or replace function reaper_internal.start_of_run(p_planned timestamptz, p_paused_until timestamptz)
    returns timestamptz
    language sql immutable
as $$
    select case when p_planned is not null then greatest(p_planned, p_paused_until) end;
$$;
comment on function reaper_internal.start_of_run(timestamptz, timestamptz) is
    'When a run that was planned for p_planned is to start: then, or at the end of the pause; null if none is planned.';
revoke all on function reaper_internal.start_of_run(timestamptz, timestamptz) from public;
