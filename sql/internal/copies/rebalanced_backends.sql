-- rebalanced_backends: the backends among which the rebalancer moves: active, ours, circuit closed, with a quota. What leaves a backend is counted as
-- gone from it as soon as its move has begun, what comes as there, so that a second pass plans nothing again; room is what is left in truth, and
-- none where the monthly limit of requests or ingress is used up.
create or replace function reaper_internal.rebalanced_backends(p_now timestamptz)
    returns table (backend text, quota numeric, stored numeric, room numeric)
    language sql stable
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    select h.backend, h.quota::numeric, t.used + t.reserved - m.leaving,
           case when reaper_internal.is_used_up(h.backend, 'monthly_ingress') then 0 else h.quota - t.used - t.reserved - t.orphan end
      from reaper_internal.backend_health(p_now) as h
     cross join lateral (
        select coalesce(sum(d.used_bytes), 0) as used, coalesce(sum(d.reserved_bytes), 0) as reserved, coalesce(sum(d.orphan_bytes), 0) as orphan
          from reaper.byte_deltas d where d.backend = h.backend) as t
     cross join lateral (
        select coalesce(sum(i.size_bytes), 0) as leaving
          from reaper.copy_intents i where i.purpose = 'move' and i.replaces_backend = h.backend) as m
     where h.state = 'active' and h.is_ours and h.is_closed and h.quota > 0
     order by h.backend;
$$;
comment on function reaper_internal.rebalanced_backends(timestamptz) is
    'For plan_moves: backends with a quota that may give and take copies, their bytes without what is leaving, and their room.';
revoke all on function reaper_internal.rebalanced_backends(timestamptz) from public;
