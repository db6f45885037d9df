-- hasten_usage_flush: let the service run in 5 seconds. A row that another session holds is left to its next flush: no report waits for it.
create or replace function reaper_internal.hasten_usage_flush(p_now timestamptz)
    returns void
    language sql volatile
as $$
    update reaper.services s
       set next_run_at = p_now + interval '5 seconds'
     where s.name = (select n.name from reaper.services n
                      where n.name = 'usage_flush' and n.enabled and n.next_run_at > p_now + interval '5 seconds'
                        for no key update skip locked);
$$;
comment on function reaper_internal.hasten_usage_flush(timestamptz) is
    'For flush_usage: makes the service usage_flush due in 5 seconds.';
revoke all on function reaper_internal.hasten_usage_flush(timestamptz) from public;
