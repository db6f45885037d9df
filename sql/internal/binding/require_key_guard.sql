-- require_key_guard: hand out no deletion while reusable object keys are unguarded: content that took such a name meanwhile would lose its
-- bytes. Random keys alone need no guard, so an installation without retired keys is never stopped by this.
create or replace function reaper_internal.require_key_guard()
    returns void
    language plpgsql stable
as $$
begin
    if exists (select from reaper.retired_keys) and not reaper_internal.has_key_guard() then
        raise exception sqlstate 'RP010' using
            message = 'the guard of retired object keys is missing on the content table: no object is deleted while names could be used again',
            hint    = 'Run: select reaper.bind(), as the owner of the table; or reaper migrate.';
    end if;
end;
$$;
comment on function reaper_internal.require_key_guard() is
    'For adopt_batch and claim_cleanup: RP010 while retired object keys exist and trigger reaper_retired_key is missing or watches other columns.';
revoke all on function reaper_internal.require_key_guard() from public;
