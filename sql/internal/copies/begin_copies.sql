-- begin_copies: give each of these contents a place, as long as there is room, and reserve it; the wants are locked by the caller, the
-- backends too. The room shrinks as intents are made, so that all of them fit together. A content without a place waits for longer each time.
create or replace function reaper_internal.begin_copies(
    in  p_hashes  text[],
    in  p_names   text[],
    in  p_rooms   numeric[],
    in  p_lease   uuid,
    in  p_now     timestamptz,
    out made      integer,
    out rooms     numeric[]
)
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_task     record;
    v_place    text;
    v_index    integer;
    v_purpose  text;
    v_backend  text;
    v_key      text;
    v_unplaced text[] := '{}';
    v_unread   text[] := '{}';
begin
    made := 0;
    rooms := p_rooms;
    for v_task in
        select t.*, (select w.attempts from reaper.copy_wants w where w.content_hash = t.content_hash) as attempts
          from reaper_internal.copy_tasks(p_hashes, p_now) as t
         order by t.good, t.content_hash
    loop
        if v_task.sources = '{}' then
            v_unread := v_unread || v_task.content_hash;
            continue;
        end if;
        v_place := reaper_internal.choose_place(p_names, rooms, v_task.taken, v_task.bad_backends, v_task.size_bytes, v_task.content_hash, v_task.attempts);
        if v_place is null then
            v_unplaced := v_unplaced || v_task.content_hash;
            continue;
        end if;
        v_index := array_position(p_names, v_place);
        rooms[v_index] := rooms[v_index] - coalesce(v_task.size_bytes, 0);
        -- A bad copy in this place, or the first one elsewhere, is replaced; else one that is to leave its backend.
        v_purpose := case when v_task.bad_backends <> '{}' then 'repair' when v_task.drained_backends <> '{}' then 'move' else 'replicate' end;
        v_index := coalesce(array_position(v_task.bad_backends, v_place), 1);
        v_backend := case v_purpose when 'repair' then v_task.bad_backends[v_index] when 'move' then v_task.drained_backends[1] end;
        v_key := case v_purpose when 'repair' then v_task.bad_keys[v_index] when 'move' then v_task.drained_keys[1] end;
        insert into reaper.copy_intents (
            intent_id, content_hash, purpose, source, source_key, destination, object_key, size_bytes, replaces_backend, replaces_key,
            begun_at, lease, lease_until)
        values (gen_random_uuid(), v_task.content_hash, v_purpose, v_task.sources[1], v_task.source_keys[1], v_place,
                reaper_internal.fresh_key(v_task.content_hash), v_task.size_bytes, v_backend, v_key, p_now, p_lease, p_now + interval '2 minutes')
            on conflict (content_hash, destination) do nothing;
        made := made + 1;
    end loop;
    perform reaper_internal.add_reservations(p_lease, p_hashes);
    update reaper.copy_wants w
       set next_attempt = p_now + interval '2 minutes'
     where w.content_hash = any (p_hashes) and w.content_hash <> all (v_unplaced || v_unread);
    update reaper.copy_wants w
       set attempts     = w.attempts + 1,
           next_attempt = p_now + least(reaper_internal.retry_pause(w.attempts + 1), interval '1 hour'),
           last_error   = case when w.content_hash = any (v_unread) then 'no good copy is on a backend whose circuit is closed'
                               else reaper_internal.no_place_error() end
     where w.content_hash = any (v_unplaced || v_unread);
end;
$$;
comment on function reaper_internal.begin_copies(text[], text[], numeric[], uuid, timestamptz) is
    'For claim_copies: makes an intent for each content that has a source and a place, reserves its bytes and postpones its want; returns how many, and the room that is left.';
revoke all on function reaper_internal.begin_copies(text[], text[], numeric[], uuid, timestamptz) from public;
