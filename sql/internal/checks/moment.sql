-- moment: a time as reaper status writes it, in UTC.
create or replace function reaper_internal.moment(p_at timestamptz)
    returns text
    language sql immutable
as $$
    select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"');
$$;
comment on function reaper_internal.moment(timestamptz) is
    'A time as text, to the minute, in UTC.';
revoke all on function reaper_internal.moment(timestamptz) from public;
