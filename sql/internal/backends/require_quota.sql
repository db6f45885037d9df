-- require_quota: refuse a negative quota.
create or replace function reaper_internal.require_quota(p_quota bigint)
    returns void
    language plpgsql immutable
as $$
begin
    if p_quota < 0 then
        raise exception sqlstate 'RP005' using
            message = format('invalid quota: %s', p_quota),
            hint    = 'Give a number of bytes that is not negative, such as pg_size_bytes(''500 GB''), or null for no limit.';
    end if;
end;
$$;
comment on function reaper_internal.require_quota(bigint) is
    'Raises RP005 for a negative quota.';
revoke all on function reaper_internal.require_quota(bigint) from public;
