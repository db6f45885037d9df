-- require_report: failures come as a JSON array; anything else would be read as "all succeeded" by somebody.
create or replace function reaper.require_report(p_failed jsonb)
    returns void
    language plpgsql immutable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    if jsonb_typeof(p_failed) <> 'array' then
        raise exception sqlstate 'RP005' using
            message = format('failures must be a JSON array, not %s', jsonb_typeof(p_failed)),
            hint    = 'Give ''[]'' when all succeeded, null when nothing was tried, else [{"backend", "object_key", "error", "permanent"}] and [{"short_code", "error"}].';
    end if;
end;
$$;
comment on function reaper.require_report(jsonb) is
    'Internal: raises RP005 unless p_failed is null or a JSON array.';
revoke all on function reaper.require_report(jsonb) from public;
