-- require_limit: refuse a number of rows that would make a transaction too long.
create or replace function reaper_internal.require_limit(p_limit integer)
    returns void
    language plpgsql immutable
as $$
begin
    if p_limit is null or p_limit not between 1 and 10000 then
        raise exception sqlstate 'RP005' using
            message = format('invalid limit: %s', coalesce(p_limit::text, 'null')),
            hint    = 'Give a number from 1 to 10000, such as 1000.';
    end if;
end;
$$;
comment on function reaper_internal.require_limit(integer) is
    'Raises RP005 for a number of rows outside 1 to 10000.';
revoke all on function reaper_internal.require_limit(integer) from public;
