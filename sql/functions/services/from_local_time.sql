-- from_local_time: the moment at which a clock in settings.time_zone shows a time. A time that the clock leaves out in spring is an hour
-- later, one that it shows twice in autumn is the second: cron runs once.
create or replace function reaper.from_local_time(p_local timestamp)
    returns timestamptz
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select p_local at time zone g.time_zone from reaper.settings g;
$$;
comment on function reaper.from_local_time(timestamp) is
    'When a clock in settings.time_zone shows p_local. A time that does not exist there is taken an hour later, one that exists twice is the second.';
revoke all on function reaper.from_local_time(timestamp) from public;
grant execute on function reaper.from_local_time(timestamp) to reaper_worker, reaper_ops, reaper_ro;
