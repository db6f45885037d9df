-- standbys: the servers that could be promoted in our place, and how far each has our commits on disk.
-- Programs that only copy the log, and subscribers, are no such servers. Without the rights of pg_read_all_stats nobody's
-- place is seen, and that is taken for nowhere: in doubt, nothing is deleted.
create or replace function reaper.standbys()
    returns table (name text, flush_lsn pg_lsn)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select r.application_name, r.flush_lsn
      from pg_stat_replication r
     where r.state is distinct from 'backup'
       and r.application_name <> all ('{pg_basebackup,pg_receivewal}')
       and not exists (select from pg_replication_slots s where s.active_pid = r.pid and s.slot_type = 'logical');
$$;
comment on function reaper.standbys() is
    'The connected standbys, and up to where each has written the log to disk; null = not seen, for want of pg_read_all_stats or because it has only just connected.';
revoke all on function reaper.standbys() from public;
grant execute on function reaper.standbys() to reaper_worker, reaper_ops, reaper_ro;
