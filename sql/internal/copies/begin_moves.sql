-- begin_moves: take moves off the plan, largest first, and make intents of those that are still possible: the source has its copy and
-- its month is not used up, the destination has none and has room, which is reserved. Backends with a quota are locked by name, as for copies.
create or replace function reaper_internal.begin_moves(p_limit integer, p_lease uuid, p_now timestamptz)
    returns void
    language plpgsql volatile
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_names  text[];
    v_rooms  numeric[];
    v_move   record;
    v_index  integer;
    v_moved  text[] := '{}';
begin
    select p_names, p_rooms into v_names, v_rooms from reaper_internal.lock_places();
    for v_move in
        with taken as (
            delete from reaper.copy_moves m
             where m.content_hash = any (array(
                select n.content_hash from reaper.copy_moves n order by n.size_bytes desc, n.content_hash limit p_limit for update skip locked))
            returning m.*
        )
        select t.content_hash, t.source, t.destination, l.object_key, l.size_bytes
          from taken t
          join reaper.object_locations l on l.content_hash = t.content_hash and l.backend = t.source and l.trouble is null
         where not exists (select from reaper.object_locations o where o.content_hash = t.content_hash and o.backend = t.destination)
           and not exists (select from reaper.copy_intents i where i.content_hash = t.content_hash)
         order by t.content_hash
    loop
        v_index := array_position(v_names, v_move.destination);
        continue when v_index is null or v_rooms[v_index] < v_move.size_bytes or reaper_internal.is_used_up(v_move.source, 'monthly_egress');
        v_rooms[v_index] := v_rooms[v_index] - v_move.size_bytes;
        insert into reaper.copy_intents (
            intent_id, content_hash, purpose, source, source_key, destination, object_key, size_bytes, replaces_backend, replaces_key,
            begun_at, lease, lease_until)
        values (gen_random_uuid(), v_move.content_hash, 'move', v_move.source, v_move.object_key, v_move.destination,
                reaper_internal.fresh_key(v_move.content_hash), v_move.size_bytes, v_move.source, v_move.object_key,
                p_now, p_lease, p_now + interval '2 minutes')
            on conflict (content_hash, destination) do nothing;
        v_moved := v_moved || v_move.content_hash;
    end loop;
    perform reaper_internal.add_reservations(p_lease, v_moved);
end;
$$;
comment on function reaper_internal.begin_moves(integer, uuid, timestamptz) is
    'For claim_moves: makes intents of up to p_limit planned moves under a lease and reserves their bytes.';
revoke all on function reaper_internal.begin_moves(integer, uuid, timestamptz) from public;
