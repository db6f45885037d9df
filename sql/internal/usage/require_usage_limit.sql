-- require_usage_limit: refuse a negative monthly limit.
create or replace function reaper_internal.require_usage_limit(p_limit bigint)
    returns void
    language plpgsql immutable
as $$
begin
    if p_limit < 0 then
        raise exception sqlstate 'RP005' using
            message = format('invalid monthly limit: %s', p_limit),
            hint    = 'Give a number of requests or bytes that is not negative, or null for no limit.';
    end if;
end;
$$;
comment on function reaper_internal.require_usage_limit(bigint) is
    'Raises RP005 for a negative monthly limit.';
revoke all on function reaper_internal.require_usage_limit(bigint) from public;
