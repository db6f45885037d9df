-- finish_copies: record copies that are needed, whose contents are locked, and end their intents; sources whose bytes were hashed on the way, or
-- compared with the new object, are verified by that. Replacing comes first where a bad copy stands in the same place, since a backend has one row of a content, and last
-- elsewhere: at no instant has a content fewer good copies than before.
create or replace function reaper_internal.finish_copies(
    p_intents    uuid[],
    p_sources    text[],
    p_sizes      bigint[],
    p_digests    boolean[],
    p_verified   boolean[],
    p_implicit   boolean[],
    p_now        timestamptz
)
    returns table (intent_id uuid, outcome text)
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
#variable_conflict use_column
declare
    v_copy      record;
    v_intent    reaper.copy_intents;
    v_replaced  uuid[] := '{}';
begin
    for v_copy in
        select i, n.size_bytes
          from unnest(p_intents, p_sizes, p_implicit) as n (intent_id, size_bytes, is_implicit)
          join reaper.copy_intents i on i.intent_id = n.intent_id
         where n.is_implicit or i.purpose <> 'replicate'
         order by i.content_hash
    loop
        v_intent := v_copy.i;
        perform reaper_internal.record_implicit_copy(v_intent.content_hash, v_copy.size_bytes, p_now);
        if v_intent.purpose <> 'replicate'
           and reaper_internal.replace_bad_copy(v_intent.content_hash, v_intent.destination, v_intent.object_key, v_copy.size_bytes, p_now)
        then
            v_replaced := v_replaced || v_intent.intent_id;
        end if;
    end loop;

    perform reaper_internal.add_copies(
                array_agg(i.content_hash::text), array_agg(i.destination::text), array_agg(i.object_key::text), array_agg(n.size_bytes),
                array_agg(case when n.is_verified then p_now end), p_now)
       from unnest(p_intents, p_sizes, p_verified) as n (intent_id, size_bytes, is_verified)
       join reaper.copy_intents i on i.intent_id = n.intent_id;
    insert into reaper.byte_deltas (backend, used_bytes, reserved_bytes)
    select i.destination, sum(n.size_bytes), -sum(coalesce(i.size_bytes, 0))
      from unnest(p_intents, p_sizes) as n (intent_id, size_bytes)
      join reaper.copy_intents i on i.intent_id = n.intent_id
     group by i.destination
    having sum(n.size_bytes) <> 0 or sum(i.size_bytes) <> 0;
    update reaper.object_locations l
       set verified_at = p_now
      from unnest(p_intents, p_sources, p_digests, p_verified) as n (intent_id, source, is_digest, is_verified)
      join reaper.copy_intents i on i.intent_id = n.intent_id
     where (n.is_digest or n.is_verified) and l.content_hash = i.content_hash and l.backend = n.source and l.trouble is null;

    for v_intent in
        select i.* from reaper.copy_intents i
         where i.intent_id = any (p_intents) and i.replaces_backend <> i.destination
         order by i.content_hash
    loop
        if reaper_internal.replace_copy(v_intent, p_now) then
            v_replaced := v_replaced || v_intent.intent_id;
        end if;
    end loop;
    return query
        delete from reaper.copy_intents i
         where i.intent_id = any (p_intents)
        returning i.intent_id,
                  case when i.intent_id <> all (v_replaced) then 'copied' when i.purpose = 'move' then 'moved' else 'repaired' end;
end;
$$;
comment on function reaper_internal.finish_copies(uuid[], text[], bigint[], boolean[], boolean[], boolean[], timestamptz) is
    'For commit_copies: makes the objects of locked intents copies of their locked contents, books their bytes, removes what they replace; copied, moved or repaired.';
revoke all on function reaper_internal.finish_copies(uuid[], text[], bigint[], boolean[], boolean[], boolean[], timestamptz) from public;
