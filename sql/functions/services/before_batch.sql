-- before_batch: all that a drain or purge asks before its next batch, in one query: may it run, must it wait, how large and how fast.
create or replace function reaper.before_batch(p_name text)
    returns table (enabled boolean, pause text, wait text, batch_size integer, rows_per_second integer)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select coalesce((select s.enabled from reaper.services s where s.name = p_name), false),
           reaper.pause_of(p_name),
           (select t.reason from reaper.throttle() as t where t.wait),
           g.batch_size,
           g.rows_per_second
      from reaper.settings g;
$$;
comment on function reaper.before_batch(text) is
    'What a service asks before its next batch: whether it is enabled, its pause (see pause_of), why it has to wait (see throttle), and settings.batch_size and settings.rows_per_second.';
revoke all on function reaper.before_batch(text) from public;
grant execute on function reaper.before_batch(text) to reaper_worker, reaper_ops, reaper_ro;
