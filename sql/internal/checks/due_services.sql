-- due_services: services that should run or have run, and since when. A scheduled start that no worker has queued counts from its time (or
-- the end of a pause), one that is queued until a run begins. A service without a plan counts from the time at which it lost it, or
-- from the start of the oldest worker, which plans it within seconds; where no service is planned, only reaper drain has run, and none is due.
create or replace function reaper_internal.due_services(p_now timestamptz)
    returns table (name text, since timestamptz)
    language sql stable
as $$
    select d.name, d.since
      from reaper_internal.workers_alive(p_now) as a
     cross join lateral (
            select s.name,
                   least(reaper_internal.start_of_run(s.waiting_since, s.paused_until),
                         case when s.next_run_at is null
                              then case when exists (select from reaper.services o where o.next_run_at is not null)
                                        then reaper_internal.start_of_run(a.since, greatest(s.unplanned_since, s.paused_until)) end
                              else reaper_internal.start_of_run(s.next_run_at, s.paused_until) end) as since
              from reaper.services s
             where s.enabled and coalesce(s.paused_until <= p_now, true)) as d
     where d.since <= p_now;
$$;
comment on function reaper_internal.due_services(timestamptz) is
    'Enabled services that are not paused and whose scheduled start has passed without a run since, and when that was.';
revoke all on function reaper_internal.due_services(timestamptz) from public;
