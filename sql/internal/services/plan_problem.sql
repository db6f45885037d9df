-- plan_problem: why no worker plans a service: its schedule cannot be read. What workers found is an error that was recorded since the plan was
-- cleared; an older one is that of a run.
create or replace function reaper_internal.plan_problem(p_service reaper.services)
    returns text
    language sql stable
as $$
    select coalesce(reaper_internal.schedule_problem(p_service.schedule),
                    case when p_service.last_finished_at >= coalesce(p_service.unplanned_since, '-infinity') then p_service.last_error end)
     where p_service.next_run_at is null;
$$;
comment on function reaper_internal.plan_problem(reaper.services) is
    'Why the service has no plan and gets none; null if it has one, or waits for a worker to make it.';
revoke all on function reaper_internal.plan_problem(reaper.services) from public;
