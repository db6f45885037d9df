-- backend_health: whether the copies on a backend count, and whether one may be stored there. Dead is a backend that has been failing for
-- settings.unhealthy_after; while more than half of the backends fail none is dead, for then the fault is more likely on our side.
create or replace function reaper_internal.backend_health(p_now timestamptz)
    returns table (backend text, state text, quota bigint, is_closed boolean, is_dead boolean, is_ours boolean)
    language sql stable
as $$
    select b.name, b.state, b.quota,
           coalesce(c.state, 'closed') = 'closed',
           coalesce(c.failing_since <= p_now - s.unhealthy_after, false) and not reaper_internal.most_backends_fail(),
           coalesce(o.state, 'ours') = 'ours'
      from reaper.backend_list b
     cross join reaper.settings s
      left join reaper.circuits c on c.backend = b.name
      left join reaper.backend_owners o on o.backend = b.name;
$$;
comment on function reaper_internal.backend_health(timestamptz) is
    'State of each backend as the services of copies judge it: whether its circuit is closed, whether its copies no longer count, whether its bucket is ours.';
revoke all on function reaper_internal.backend_health(timestamptz) from public;
