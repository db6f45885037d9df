-- pause: no run of the service begins for a while. It ends by itself: a pause that somebody forgot is how backlogs are made.
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
            message = 'a pause needs a length of up to 30 days, and a reason',
            hint    = format('select reaper.pause(%L, ''2 hours'', ''why'');', p_name);
    end if;
    update reaper.services s set paused_until = v_until, pause_reason = p_reason where s.name = p_name;
    perform reaper_internal.record_audit('pause', p_name, p_reason, format('until %s', v_until));
    return v_until;
end;
$$;
comment on function reaper.pause(text, interval, text) is
    'Keeps the service from running for p_for (up to 30 days) and says why; returns when the pause ends.';
revoke all on function reaper.pause(text, interval, text) from public;
grant execute on function reaper.pause(text, interval, text) to reaper_ops;
