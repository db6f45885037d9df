-- lock_places: the backends that may take copies now, with their room: active, ours, circuit closed, no monthly limit of
-- requests or ingress used up. Those with a quota are locked in the order
-- of their names, and their balance is read in a new statement after the locks: what is reserved under them never exceeds a quota.
create or replace function reaper_internal.lock_places(out p_names text[], out p_rooms numeric[])
    language plpgsql volatile
as $$
begin
    perform from reaper.backend_list b where b.state = 'active' and b.quota is not null order by b.name for no key update;
    select coalesce(array_agg(h.backend order by h.backend), '{}'),
           coalesce(array_agg(h.quota - t.taken order by h.backend), '{}')
      into p_names, p_rooms
      from reaper_internal.backend_health(reaper.clock()) as h
     cross join lateral (
        select coalesce(sum(d.used_bytes + d.orphan_bytes + d.reserved_bytes), 0) as taken
          from reaper.byte_deltas d
         where h.quota is not null and d.backend = h.backend) as t
     where h.state = 'active' and h.is_closed and h.is_ours and not reaper_internal.is_used_up(h.backend, 'monthly_ingress');
end;
$$;
comment on function reaper_internal.lock_places() is
    'For claim_copies and claim_moves: the names of the backends that may take copies, those with a quota locked, and the bytes that each has room for (null = no limit).';
revoke all on function reaper_internal.lock_places() from public;
