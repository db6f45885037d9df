-- choose_backend: choose the backend for new bytes: active, below its monthly limits, ours, circuit closed, with the most room. The sum of the accounts is only a hint; a
-- backend with a quota is checked again under its lock, one without needs no lock. Null if the bytes fit nowhere.
create or replace function reaper_internal.choose_backend(p_size_bytes bigint)
    returns text
    language plpgsql volatile
as $$
declare
    v_place record;
begin
    for v_place in
        select b.name, b.quota
          from reaper.backend_list b
          left join reaper.circuits c on c.backend = b.name
          -- A hint, as the circuit is: who stores there compares the marker.
          left join reaper.backend_owners o on o.backend = b.name
         cross join lateral (
            select case when b.quota is not null
                        then b.quota - (select coalesce(sum(d.used_bytes + d.orphan_bytes + d.reserved_bytes), 0)
                                          from reaper.byte_deltas d
                                         where d.backend = b.name) end as room
         ) as f
         where b.state = 'active' and coalesce(f.room >= p_size_bytes, true)
           and not reaper_internal.is_used_up(b.name, 'monthly_ingress')
         order by coalesce(o.state, 'ours') = 'ours' desc, coalesce(c.state, 'closed') = 'closed' desc, f.room desc nulls first, b.name
    loop
        if v_place.quota is null or reaper_internal.lock_backend_with_room(v_place.name, p_size_bytes) then
            return v_place.name;
        end if;
    end loop;
    return null;
end;
$$;
comment on function reaper_internal.choose_backend(bigint) is
    'For begin_put: the backend for so many new bytes, its row locked if it has a quota; null if no active backend has room.';
revoke all on function reaper_internal.choose_backend(bigint) from public;
