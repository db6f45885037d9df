-- reset_stale_probes: open circuits again whose probe was lost because its sender died. The next probe may start at once; the pause does
-- not grow, since the backend's answer is unknown.
create or replace function reaper.reset_stale_probes(p_older_than interval default '2 minutes')
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_now    timestamptz := reaper.clock();
    v_reset  integer;
begin
    if p_older_than is null or p_older_than < interval '0' then
        raise exception sqlstate 'RP005' using
            message = 'p_older_than must not be null or negative',
            hint    = 'Give an interval such as ''2 minutes''.';
    end if;
    update reaper.circuits c
       set state = 'open', retry_at = v_now, probe = null, probe_started_at = null, changed_at = v_now
     where c.state = 'half_open' and c.probe_started_at <= v_now - p_older_than;
    get diagnostics v_reset = row_count;
    return v_reset;
end;
$$;
comment on function reaper.reset_stale_probes(interval) is
    'Opens every circuit again whose probe has been running for p_older_than, so that the next probe may start; returns how many.';
revoke all on function reaper.reset_stale_probes(interval) from public;
grant execute on function reaper.reset_stale_probes(interval) to reaper_worker, reaper_ops;
