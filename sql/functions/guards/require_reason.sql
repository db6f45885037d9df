-- require_reason: what people decide is worth a word to those who come after them.
create or replace function reaper.require_reason(p_reason text)
    returns void
    language plpgsql immutable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    if coalesce(btrim(p_reason), '') = '' then
        raise exception sqlstate 'RP005' using
            message = 'this needs a reason',
            hint    = 'Say in a few words why; it is kept in reaper.audit.';
    end if;
end;
$$;
comment on function reaper.require_reason(text) is
    'Internal: raises RP005 for an empty reason.';
revoke all on function reaper.require_reason(text) from public;
