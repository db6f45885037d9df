-- clock: the only source of time for decisions. Clocks of workers never decide what is due.
-- Tests shift it through settings.clock_offset, which only the owner can write: no session can make a live row look expired.
create or replace function reaper.clock()
    returns timestamptz
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select clock_timestamp()
         + coalesce((select s.clock_offset from reaper.settings s where s.clock_may_move), interval '0');
$$;
comment on function reaper.clock() is
    'The time by which reaper decides what is due.';
revoke all on function reaper.clock() from public;
grant execute on function reaper.clock() to reaper_worker, reaper_app, reaper_ops, reaper_ro;
