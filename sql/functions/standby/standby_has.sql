-- standby_has: have the standbys of settings.wait_for_standby written the WAL up to this position to disk? What is on disk there is
-- replayed before a promotion ends, so none of them can bring back rows that were deleted before this position.
create or replace function reaper.standby_has(p_lsn pg_lsn)
    returns boolean
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select coalesce(bool_and(
               case s.wait_for_standby
               when '*' then coalesce((select bool_and(coalesce(b.flush_lsn >= p_lsn, false)) from reaper.standbys() as b), false)
               else not exists (
                    select from string_to_table(s.wait_for_standby, ',') as n (name)
                     where btrim(n.name) <> ''
                       and not exists (select from reaper.standbys() as b where b.name = btrim(n.name) and b.flush_lsn >= p_lsn)) end
           ), false)
      from reaper.settings s;
$$;
comment on function reaper.standby_has(pg_lsn) is
    'Whether every standby that settings.wait_for_standby names has the WAL up to p_lsn on disk; with * all that are connected, and at least one. True if the setting is null.';
revoke all on function reaper.standby_has(pg_lsn) from public;
grant execute on function reaper.standby_has(pg_lsn) to reaper_worker, reaper_ops, reaper_ro;
