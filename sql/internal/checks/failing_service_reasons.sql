-- failing_service_reasons: services that failed three times in a row.
create or replace function reaper_internal.failing_service_reasons(p_now timestamptz)
    returns setof text
    language sql stable
as $$
    select format('service %s failed %s times in a row, the last time at %s: %s. Remove the cause; reaper service run %s --here tries it at once and shows the error',
                  s.name, s.consecutive_failures, reaper_internal.moment(s.last_finished_at), left(s.last_error, 300), s.name)
      from reaper.services s
     where s.enabled and coalesce(s.paused_until <= p_now, true)
       and s.consecutive_failures >= 3 and s.next_run_at is not null
     order by s.name;
$$;
comment on function reaper_internal.failing_service_reasons(timestamptz) is
    'For attention_reasons: services that failed three times in a row or more.';
revoke all on function reaper_internal.failing_service_reasons(timestamptz) from public;
