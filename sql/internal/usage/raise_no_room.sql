-- raise_no_room: refuse a put, and say whether monthly limits are the reason: then freeing bytes would not help.
create or replace function reaper_internal.raise_no_room(p_size_bytes bigint)
    returns void
    language plpgsql stable
as $$
declare
    v_limits text := (select string_agg(format('%s has used its %s of %s', l.backend, l.what, l.amount), '; ' order by l.backend, l.what)
                        from reaper.backend_list b
                       cross join lateral reaper_internal.reached_limits(b.name, 'monthly_ingress') as l
                       where b.state = 'active');
begin
    raise exception sqlstate 'RP008' using
        message = format('no backend has room for %s bytes%s', p_size_bytes, coalesce(': ' || v_limits, '')),
        hint    = case when v_limits is null then 'See reaper.backends: raise a quota, add a backend, or let the drain and the cleanup free bytes.'
                       else format('See reaper.usage: raise a limit with reaper.set_limit(), add a backend, or wait until %s UTC.',
                                   (reaper_internal.month_of(reaper.clock()) + interval '1 month')::date) end;
end;
$$;
comment on function reaper_internal.raise_no_room(bigint) is
    'For begin_put: raises RP008, with the monthly limits that are used up.';
revoke all on function reaper_internal.raise_no_room(bigint) from public;
