-- reschedule: change when a service runs. What is no schedule is refused, as far as SQL can tell; one that workers cannot parse is reported in
-- last_error and by the verdict.
create or replace function reaper.reschedule(p_name text, p_schedule text, p_reason text default null)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_service reaper.services := reaper_internal.lock_service_row(p_name);
begin
    if coalesce(p_schedule, '') = '' or length(p_schedule) > 100 or reaper_internal.schedule_problem(p_schedule) is not null then
        raise exception sqlstate 'RP005' using
            message = case when p_schedule <> '' and length(p_schedule) <= 100 then 'invalid schedule: ' || reaper_internal.schedule_problem(p_schedule)
                           else 'p_schedule must have 1 to 100 characters' end,
            hint    = format('Give cron, @hourly and the like, or an interval: select reaper.reschedule(%L, ''0 0 * * *''); or ''15 minutes''', p_name);
    end if;
    update reaper.services s set schedule = p_schedule, next_run_at = null, unplanned_since = reaper.clock() where s.name = p_name;
    perform reaper_internal.record_audit('reschedule', p_name, p_reason, format('from %s to %s', v_service.schedule, p_schedule));
end;
$$;
comment on function reaper.reschedule(text, text, text) is
    'Changes when the service runs: cron in settings.time_zone (0 0 * * *), @hourly and the like, or an interval (15 minutes). Kept when a newer release starts. Audited. RP005 if it is no schedule.';
revoke all on function reaper.reschedule(text, text, text) from public;
grant execute on function reaper.reschedule(text, text, text) to reaper_ops;
