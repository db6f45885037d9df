-- require_age: refuse an age that is null or negative.
create or replace function reaper_internal.require_age(p_age interval)
    returns void
    language plpgsql immutable
as $$
begin
    if p_age is null or p_age < interval '0' then
        raise exception sqlstate 'RP005' using
            message = format('p_older_than must not be null or negative: %s', coalesce(p_age::text, 'null')),
            hint    = 'Give an interval such as ''7 days''.';
    end if;
end;
$$;
comment on function reaper_internal.require_age(interval) is
    'Raises RP005 for an age that is null or negative.';
revoke all on function reaper_internal.require_age(interval) from public;
