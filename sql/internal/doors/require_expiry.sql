-- require_expiry: a paste that is over before it begins is a mistake of the caller's, most often one of time zones. Whoever gave a
-- time later than the moment in which the statement came made no mistake: a busy server may be slower than a short life. A
-- statement that has run for long, as a loop over many pastes does, is not such a moment.
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
            message = format('expires_at %s has passed, it is %s', p_expires_at, p_now),
            hint    = 'Give a time later than reaper.clock(), or null for never.';
    end if;
end;
$$;
comment on function reaper_internal.require_expiry(timestamptz, timestamptz) is
    'Raises RP005 for an expiry that had passed when the statement came; null = never is one.';
revoke all on function reaper_internal.require_expiry(timestamptz, timestamptz) from public;
