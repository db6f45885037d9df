-- unplanned_service_reasons: services that never run again, because no worker can read their schedule.
create or replace function reaper_internal.unplanned_service_reasons(p_now timestamptz)
    returns setof text
    language sql stable
as $$
    select format('service %s is not planned: %s Run: select reaper.reschedule(%L, %L)',
                  s.name, rtrim(left(p.problem, 300), '.') || '.', s.name, s.default_schedule)
      from reaper.services s
     cross join lateral reaper_internal.plan_problem(s) as p (problem)
     where s.enabled and coalesce(s.paused_until <= p_now, true) and p.problem is not null
     order by s.name;
$$;
comment on function reaper_internal.unplanned_service_reasons(timestamptz) is
    'For attention_reasons: services whose schedule cannot be read.';
revoke all on function reaper_internal.unplanned_service_reasons(timestamptz) from public;
