-- require_reason: refuse a decision of a person without a reason, which the audit keeps.
create or replace function reaper_internal.require_reason(p_reason text)
    returns void
    language plpgsql immutable
as $$
begin
    if coalesce(btrim(p_reason), '') = '' then
        raise exception sqlstate 'RP005' using
            message = 'p_reason must not be empty',
            hint    = 'Give the reason in a few words; it is kept in reaper.audit.';
    end if;
end;
$$;
comment on function reaper_internal.require_reason(text) is
    'Raises RP005 for an empty reason.';
revoke all on function reaper_internal.require_reason(text) from public;
