-- require_no_pause: refuse to run a service that an operator paused.
create or replace function reaper_internal.require_no_pause(p_name text, p_hint text)
    returns void
    language plpgsql stable
as $$
declare
    v_pause text := reaper.pause_of(p_name);
begin
    if v_pause is not null then
        raise exception sqlstate 'RP011' using message = v_pause, hint = p_hint;
    end if;
end;
$$;
comment on function reaper_internal.require_no_pause(text, text) is
    'Raises RP011 with who paused the service, until when and why, if it is paused.';
revoke all on function reaper_internal.require_no_pause(text, text) from public;
