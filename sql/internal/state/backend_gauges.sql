-- backend_gauges: bytes, quota and circuit of each backend, and what is used of its limits. The byte accounts are a few hundred rows, which
-- fold_accounts() keeps few.
create or replace function reaper_internal.backend_gauges(p_now timestamptz)
    returns setof jsonb
    language sql stable
as $$
    select reaper_internal.gauge('backend_bytes', k.bytes, jsonb_build_object('backend', b.name, 'kind', k.kind))
      from reaper.backends b
     cross join lateral (values ('used', b.bytes_used), ('orphan', b.orphan_bytes), ('reserved', b.reserved_bytes)) as k (kind, bytes)
    union all
    select reaper_internal.gauge('backend_quota_bytes', b.quota, jsonb_build_object('backend', b.name))
      from reaper.backend_list b
     where b.quota is not null
    union all
    select reaper_internal.gauge('backend_circuit', (s.name = coalesce(c.state, 'closed'))::integer,
                                 jsonb_build_object('backend', b.name, 'state', s.name))
      from reaper.backend_list b
     cross join unnest('{closed,open,half_open}'::text[]) as s (name)
      left join reaper.circuits c on c.backend = b.name
    union all
    select reaper_internal.gauge('backend_nearly_full', (n.backend is not null)::integer, jsonb_build_object('backend', l.backend, 'what', l.what))
      from reaper_internal.limits_in_use(p_now) as l
      left join reaper.nearly_full n on (n.backend, n.what) = (l.backend, l.what);
$$;
comment on function reaper_internal.backend_gauges(timestamptz) is
    'For refresh_state: bytes, quota and circuit per backend, and which quotas and limits are nearly used up.';
revoke all on function reaper_internal.backend_gauges(timestamptz) from public;
