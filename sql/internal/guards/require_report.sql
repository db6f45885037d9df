-- require_report: failures come as a JSON array; anything else would be read as "all succeeded" by somebody. A verdict is true
-- or false; anything else would be read as the milder one.
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
            message = 'a failure is permanent or an outage, or it is not',
            hint    = 'Give "permanent": true for what no retry can delete, "outage": true where the backend did not answer, else false or nothing.';
    end if;
end;
$$;
comment on function reaper_internal.require_report(jsonb) is
    'Raises RP005 unless p_failed is null or a JSON array whose verdicts are booleans.';
revoke all on function reaper_internal.require_report(jsonb) from public;
