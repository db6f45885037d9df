-- service_gauges: when each service last succeeded, and how often it has failed since.
create or replace function reaper_internal.service_gauges()
    returns setof jsonb
    language sql stable
as $$
    select reaper_internal.gauge('service_last_success_timestamp_seconds', extract(epoch from s.last_success_at), jsonb_build_object('service', s.name))
      from reaper.services s
     where s.last_success_at is not null
    union all
    select reaper_internal.gauge('service_consecutive_failures', s.consecutive_failures, jsonb_build_object('service', s.name))
      from reaper.services s;
$$;
comment on function reaper_internal.service_gauges() is
    'For refresh_state: last success and failures in a row per service.';
revoke all on function reaper_internal.service_gauges() from public;
