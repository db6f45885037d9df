-- waits_for_standby: must await_standby be called before objects are deleted? Returned with a release, to save calls.
create or replace function reaper.waits_for_standby()
    returns boolean
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select current_setting('synchronous_standby_names') <> '' or not exists (select from reaper.settings s where s.wait_for_standby is null);
$$;
comment on function reaper.waits_for_standby() is
    'Whether objects may be deleted only after await_standby: settings.wait_for_standby is set, or replication is synchronous.';
revoke all on function reaper.waits_for_standby() from public;
grant execute on function reaper.waits_for_standby() to reaper_worker, reaper_ops, reaper_ro;
