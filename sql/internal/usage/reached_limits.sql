-- reached_limits: the monthly limits of a backend that are used up: of requests, and of p_bytes (monthly_ingress for a write, monthly_egress
-- for a read). What processes have not flushed yet is not seen: a backend is left that much later.
create or replace function reaper_internal.reached_limits(p_backend text, p_bytes text)
    returns setof reaper.usage_limits
    language sql stable
as $$
    select l.*
      from reaper.usage_limits l
     cross join lateral reaper_internal.month_usage(l.backend, reaper_internal.month_of(reaper.clock())) as u
     where l.backend = p_backend
       and l.what in ('monthly_requests', p_bytes)
       and l.amount is not null
       and case l.what when 'monthly_requests' then u.requests when 'monthly_ingress' then u.ingress else u.egress end >= l.amount;
$$;
comment on function reaper_internal.reached_limits(text, text) is
    'For is_used_up and raise_no_room: monthly limits of the backend, of requests and of p_bytes, that are used up.';
revoke all on function reaper_internal.reached_limits(text, text) from public;
