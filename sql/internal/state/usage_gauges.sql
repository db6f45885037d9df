-- usage_gauges: what each backend was used for in this month, and the limits that hold.
create or replace function reaper_internal.usage_gauges(p_now timestamptz)
    returns setof jsonb
    language sql stable
as $$
    select reaper_internal.gauge('usage_month_' || k.kind, k.number, jsonb_build_object('backend', b.name))
      from reaper.backend_list b
     cross join lateral reaper_internal.month_usage(b.name, reaper_internal.month_of(p_now)) as u
     cross join lateral (values ('requests', u.requests), ('ingress_bytes', u.ingress), ('egress_bytes', u.egress)) as k (kind, number)
    union all
    select reaper_internal.gauge('usage_limit', l.amount, jsonb_build_object('backend', l.backend, 'what', l.what))
      from reaper.usage_limits l
     where l.amount is not null;
$$;
comment on function reaper_internal.usage_gauges(timestamptz) is
    'For refresh_state: requests, ingress and egress of this month per backend, and the monthly limits.';
revoke all on function reaper_internal.usage_gauges(timestamptz) from public;
