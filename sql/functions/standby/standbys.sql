-- standbys: the connected servers that could be promoted, and up to which position each has our WAL on disk.
-- Programs that only copy the WAL, and logical subscribers, are left out. Without the rights of pg_read_all_stats the position is null,
-- which counts as not received: in doubt, no object is deleted.
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
    'Connected standbys, and up to which position each has the WAL on disk; null = unknown: pg_read_all_stats is missing, or the standby has just connected.';
revoke all on function reaper.standbys() from public;
grant execute on function reaper.standbys() to reaper_worker, reaper_ops, reaper_ro;
