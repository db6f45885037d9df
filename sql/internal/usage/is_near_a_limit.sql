-- is_near_a_limit: whether any backend has used settings.near_limit of a monthly limit; usage is then flushed more often.
create or replace function reaper_internal.is_near_a_limit(p_now timestamptz)
    returns boolean
    language sql stable
as $$
    select exists (
        select from reaper.settings s
         cross join reaper.usage_limits l
         cross join lateral reaper_internal.month_usage(l.backend, reaper_internal.month_of(p_now)) as u
         where case l.what when 'monthly_requests' then u.requests when 'monthly_ingress' then u.ingress else u.egress end >= s.near_limit * l.amount);
$$;
comment on function reaper_internal.is_near_a_limit(timestamptz) is
    'For flush_usage: whether settings.near_limit of any monthly limit is used.';
revoke all on function reaper_internal.is_near_a_limit(timestamptz) from public;
