-- month_of: the month of a moment, as usage counts it: in UTC, whatever the session's zone.
create or replace function reaper_internal.month_of(p_at timestamptz)
    returns date
    language sql immutable
as $$
    select date_trunc('month', p_at at time zone 'UTC')::date;
$$;
comment on function reaper_internal.month_of(timestamptz) is
    'First day of the month (UTC) of a moment.';
revoke all on function reaper_internal.month_of(timestamptz) from public;
