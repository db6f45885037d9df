-- limits_in_use: every quota and every monthly limit, and how much of it is used.
create or replace function reaper_internal.limits_in_use(p_now timestamptz)
    returns table (backend text, what text, used numeric, amount bigint)
    language sql stable
as $$
    select b.name, 'bytes', (select coalesce(sum(d.used_bytes + d.orphan_bytes + d.reserved_bytes), 0) from reaper.byte_deltas d where d.backend = b.name),
           b.quota
      from reaper.backend_list b
     where b.quota is not null
    union all
    select l.backend, l.what,
           case l.what when 'monthly_requests' then u.requests when 'monthly_ingress' then u.ingress else u.egress end,
           l.amount
      from reaper.usage_limits l
     cross join lateral reaper_internal.month_usage(l.backend, reaper_internal.month_of(p_now)) as u
     where l.amount is not null;
$$;
comment on function reaper_internal.limits_in_use(timestamptz) is
    'Quotas (bytes) and monthly limits of all backends, with what is used of each at p_now.';
revoke all on function reaper_internal.limits_in_use(timestamptz) from public;
