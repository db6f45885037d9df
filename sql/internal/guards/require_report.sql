-- require_report: failures must be a JSON array; anything else could be read as "all succeeded". "permanent" and "outage" must be
-- booleans; anything else could be read as false.
create or replace function reaper_internal.require_report(p_failed jsonb)
    returns void
    language plpgsql immutable
as $$
begin
    if jsonb_typeof(p_failed) <> 'array' then
        raise exception sqlstate 'RP005' using
            message = format('failures must be a JSON array, not %s', jsonb_typeof(p_failed)),
            hint    = 'Give ''[]'' when all succeeded, null when nothing was tried, else [{"backend", "object_key", "error", "permanent", "outage"}] and [{"short_code", "error"}].';
    end if;

    if exists (select from jsonb_array_elements(p_failed) as f (failure)
                where jsonb_typeof(f.failure -> 'permanent') not in ('boolean', 'null')
                   or jsonb_typeof(f.failure -> 'outage') not in ('boolean', 'null')) then
        raise exception sqlstate 'RP005' using
            message = '"permanent" and "outage" must be booleans',
            hint    = 'Give "permanent": true if no retry can delete the object, "outage": true if the backend did not answer; else false, or leave them out.';
    end if;
end;
$$;
comment on function reaper_internal.require_report(jsonb) is
    'Raises RP005 unless p_failed is null or a JSON array whose "permanent" and "outage" are booleans.';
revoke all on function reaper_internal.require_report(jsonb) from public;
