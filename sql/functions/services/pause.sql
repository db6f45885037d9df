-- pause: no run of the service starts for a while, by whomever; a drain or purge that runs stops before its next batch. A pause always has an end, so that a forgotten one cannot build up a backlog.
create or replace function reaper.pause(p_name text, p_for interval, p_reason text)
    returns timestamptz
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_until timestamptz := reaper.clock() + p_for;
begin
    perform reaper_internal.lock_service_row(p_name);
    if p_for is null or p_for <= interval '0' or p_for > interval '30 days' or coalesce(p_reason, '') = '' then
        raise exception sqlstate 'RP005' using
            message = 'p_for must be positive and at most 30 days, and p_reason must not be empty',
            hint    = format('Example: select reaper.pause(%L, ''2 hours'', ''why'');', p_name);
    end if;
    update reaper.services s set paused_until = v_until, paused_by = session_user, pause_reason = p_reason where s.name = p_name;
    perform reaper_internal.record_audit('pause', p_name, p_reason, format('until %s', v_until));
    return v_until;
end;
$$;
comment on function reaper.pause(text, interval, text) is
    'Keeps the service from running for p_for (up to 30 days), also by hand unless the caller says so (despite the pause); a reason is required. Returns when the pause ends. Audited.';
revoke all on function reaper.pause(text, interval, text) from public;
grant execute on function reaper.pause(text, interval, text) to reaper_ops;
