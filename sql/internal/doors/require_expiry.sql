-- require_expiry: refuse an expiry in the past, which is a caller's mistake, most often one of time zones. A time later than the start of
-- the statement is accepted: a busy server may take longer than a short life. A statement that has run for long, such as a loop over many
-- pastes, does not get this tolerance.
create or replace function reaper_internal.require_expiry(p_expires_at timestamptz, p_now timestamptz)
    returns void
    language plpgsql volatile
as $$
declare
    v_asked  timestamptz := greatest(statement_timestamp(), clock_timestamp() - interval '1 minute')
                          + (reaper.clock() - clock_timestamp());
begin
    if p_expires_at <= v_asked then
        raise exception sqlstate 'RP005' using
            message = format('expires_at %s is in the past; the time is %s', p_expires_at, p_now),
            hint    = 'Give a time later than reaper.clock(), or null for never.';
    end if;
end;
$$;
comment on function reaper_internal.require_expiry(timestamptz, timestamptz) is
    'Raises RP005 for an expiry that had passed when the statement started; null = never is accepted.';
revoke all on function reaper_internal.require_expiry(timestamptz, timestamptz) from public;
