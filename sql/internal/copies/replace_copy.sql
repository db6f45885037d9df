-- replace_copy: remove the copy that an intent replaces, if it is still the one that was seen: a move removes a good one, a repair one that is
-- still bad. Another one is stored by now and verified; where readers know the content's own key alone, the object under it stays.
create or replace function reaper_internal.replace_copy(p_intent reaper.copy_intents, p_now timestamptz)
    returns boolean
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_copy  reaper.object_locations;
begin
    select l.* into v_copy
      from reaper.object_locations l
     cross join lateral (select p_intent.content_hash collate "default") as own (hash)
      join reaper.content c on c.content_hash = own.hash
     where l.content_hash = p_intent.content_hash and l.backend = p_intent.replaces_backend and l.object_key = p_intent.replaces_key
       and (l.trouble is not null or p_intent.purpose = 'move')
       and not (l.backend = 'default' and l.object_key = coalesce(c.object_key, c.content_hash)::text collate "C" and reaper_internal.own_key_stays());
    if not found then
        return false;
    end if;
    perform reaper_internal.set_content_key(p_intent.content_hash, p_intent.replaces_key, p_intent.object_key);
    perform reaper_internal.emit_repaired(p_intent.content_hash, p_intent.destination, p_intent.object_key, n.size_bytes, v_copy)
       from reaper.object_locations n
      where n.content_hash = p_intent.content_hash and n.backend = p_intent.destination and n.object_key = p_intent.object_key;
    return reaper_internal.delete_copy(p_intent.content_hash, p_intent.replaces_backend, p_intent.replaces_key, p_now);
end;
$$;
comment on function reaper_internal.replace_copy(reaper.copy_intents, timestamptz) is
    'For replace_copies: removes the copy that a move or repair replaces; false if it changed meanwhile or must stay.';
revoke all on function reaper_internal.replace_copy(reaper.copy_intents, timestamptz) from public;
