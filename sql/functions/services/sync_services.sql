-- sync_services: give every enabled retention policy its service, then return the services that are due or not planned yet.
-- Runs that were planned by cron in another time zone are planned anew, unless they are due.
create or replace function reaper.sync_services()
    returns table (name text, schedule text, next_run_at timestamptz, now timestamptz, local_now timestamp)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
#variable_conflict use_column
declare
    v_now   timestamptz := reaper.clock();
    v_zone  text        := (select g.time_zone from reaper.settings g);
begin
    perform reaper_internal.sync_policy_services();
    update reaper.services s
       set next_run_at = null, unplanned_since = v_now
     where s.planned_zone <> v_zone and s.next_run_at > v_now and s.schedule ~ '^(@|\S+ \S+ \S+ \S+ \S+$)';
    return query
        select s.name, s.schedule, s.next_run_at, v_now, v_now at time zone v_zone
          from reaper.services s
         where s.enabled
           and (s.paused_until is null or s.paused_until <= v_now)
           and (s.next_run_at is null or s.next_run_at <= v_now)
         order by s.next_run_at nulls first, s.name;
end;
$$;
comment on function reaper.sync_services() is
    'Updates the services of retention policies, and returns the enabled services that are not paused and whose next_run_at is reached or not planned yet, '
    'with the time of that decision, also as a clock in settings.time_zone shows it. Plan the next run, then call enqueue_run.';
revoke all on function reaper.sync_services() from public;
grant execute on function reaper.sync_services() to reaper_worker, reaper_ops;
