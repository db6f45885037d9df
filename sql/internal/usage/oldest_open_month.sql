-- oldest_open_month: the first month for which reports are still accepted. A month is closed seven days after its end: what is told of it
-- later is refused, so that the rows that keep reports from being counted twice may go a day after that.
create or replace function reaper_internal.oldest_open_month(p_now timestamptz)
    returns date
    language sql immutable
as $$
    select reaper_internal.month_of(p_now - interval '7 days');
$$;
comment on function reaper_internal.oldest_open_month(timestamptz) is
    'For flush_usage and fold_usage: first day of the oldest month for which usage is still accepted.';
revoke all on function reaper_internal.oldest_open_month(timestamptz) from public;
