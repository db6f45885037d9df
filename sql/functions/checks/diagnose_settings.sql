-- diagnose_settings: are the settings of the server as reaper needs them? One row per check.
create or replace function reaper.diagnose_settings()
    returns table (name text, verdict text, detail text, fix text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select 'clock', case when s.clock_may_move then 'fail' else 'ok' end,
           case when s.clock_may_move then format('reaper.clock() is shifted by %s: live pastes may look expired', s.clock_offset) else 'reaper.clock() is the clock of the server' end,
           'Run as the owner: update reaper.settings set clock_may_move = false, clock_offset = ''0'''
      from reaper.settings s
    union all
    select 'isolation', case when v.setting = 'read committed' then 'ok' else 'warn' end,
           format('default_transaction_isolation is %s', v.setting),
           'Workers set it themselves; in psql use: begin isolation level read committed'
      from (values (current_setting('default_transaction_isolation'))) as v (setting)
    union all
    select 'durable commits', case when v.sync = 'off' or v.fsync = 'off' then 'warn' else 'ok' end,
           format('synchronous_commit is %s, fsync is %s', v.sync, v.fsync),
           case when v.fsync = 'off' then 'Set fsync on: a crash of the machine may corrupt the database.'
                else 'reaper turns it on for its own deletions; commits of your application may be lost in a crash.' end
      from (values (current_setting('synchronous_commit'), current_setting('fsync'))) as v (sync, fsync)
    union all
    select 'triggers', case when v.setting = 'replica' then 'fail' else 'ok' end,
           format('session_replication_role is %s', v.setting),
           'Run: alter database … reset session_replication_role, or alter role … reset … (replica enforces no foreign key)'
      from (values (current_setting('session_replication_role'))) as v (setting)
    union all
    select 'standby', case when s.wait_for_standby is null or reaper.standby_has('0/0') then 'ok' else 'fail' end,
           case when s.wait_for_standby is null then 'deletions wait for no standby'
                when not pg_has_role('reaper_owner', 'pg_read_all_stats', 'USAGE') then 'reaper_owner cannot see the position of standbys: no object is deleted'
                when reaper.standby_has('0/0') then format('deletions wait for %s', s.wait_for_standby)
                else format('deletions wait for %s, which is not connected: no object is deleted', s.wait_for_standby) end,
           'Run as a superuser: grant pg_read_all_stats to reaper_owner. Start the standby, or run: update reaper.settings set wait_for_standby = null'
      from reaper.settings s
    union all
    select 'connections', case when v.used > v.allowed * 0.8 then 'warn' else 'ok' end,
           format('%s of %s connections in use', v.used, v.allowed), 'Raise max_connections, or run fewer drain slots.'
      from (select (select coalesce(sum(d.numbackends), 0) from pg_stat_database d) as used,
                   current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer as allowed) as v;
$$;
comment on function reaper.diagnose_settings() is
    'Checks the clock, isolation, durability, triggers, standby and connections of the server: ok, warn or fail, and how to fix it.';
revoke all on function reaper.diagnose_settings() from public;
grant execute on function reaper.diagnose_settings() to reaper_worker, reaper_ops, reaper_ro;
