-- require_limit: too much at once is a transaction that is too long.
create or replace function reaper_internal.require_limit(p_limit integer)
    returns void
    language plpgsql immutable
as $$
begin
    if p_limit is null or p_limit not between 1 and 10000 then
        raise exception sqlstate 'RP005' using
            message = format('%s rows at once are not possible', coalesce(p_limit::text, 'null')),
            hint    = 'Give a number from 1 to 10000; 1000 is a good one.';
    end if;
end;
$$;
comment on function reaper_internal.require_limit(integer) is
    'Raises RP005 for a number of rows outside 1 to 10000.';
revoke all on function reaper_internal.require_limit(integer) from public;
