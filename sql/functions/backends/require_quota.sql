-- require_quota: a quota is a number of bytes, or none.
create or replace function reaper.require_quota(p_quota bigint)
    returns void
    language plpgsql immutable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    if p_quota < 0 then
        raise exception sqlstate 'RP005' using
            message = format('%s bytes are no quota', p_quota),
            hint    = 'Give bytes, such as pg_size_bytes(''500 GB''), or null for as many as come.';
    end if;
end;
$$;
comment on function reaper.require_quota(bigint) is
    'Internal: raises RP005 for a negative quota.';
revoke all on function reaper.require_quota(bigint) from public;
