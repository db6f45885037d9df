-- require_reason: what people decide is worth a word to those who come after them.
create or replace function reaper_internal.require_reason(p_reason text)
    returns void
    language plpgsql immutable
as $$
begin
    if coalesce(btrim(p_reason), '') = '' then
        raise exception sqlstate 'RP005' using
            message = 'this needs a reason',
            hint    = 'Say in a few words why; it is kept in reaper.audit.';
    end if;
end;
$$;
comment on function reaper_internal.require_reason(text) is
    'Raises RP005 for an empty reason.';
revoke all on function reaper_internal.require_reason(text) from public;
