-- store_copy: record the new copy, then remove the one that it replaces, if that still is the one that was seen. The content keeps a copy under
-- its own key: if that one goes, the key becomes the new copy's.
create or replace function reaper_internal.store_copy(
    p_intent    reaper.copy_intents,
    p_source    text,
    p_size      bigint,
    p_sha256    text,
    p_verified  boolean,
    p_now       timestamptz
)
    returns text
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
as $$
declare
    v_replaced boolean := false;
begin
    delete from reaper.copy_intents i where i.intent_id = p_intent.intent_id;
    perform reaper_internal.record_implicit_copy(p_intent.content_hash, p_size, p_now);
    -- A bad copy in the same place first: a backend has one row of a content.
    if p_intent.purpose <> 'replicate' then
        v_replaced := reaper_internal.replace_bad_copy(p_intent.content_hash, p_intent.destination, p_intent.object_key, p_now);
    end if;
    perform reaper_internal.insert_copy(p_intent.content_hash, p_intent.destination, p_intent.object_key, p_size,
                                        case when p_verified then p_now end, p_now);
    perform reaper_internal.add_bytes(p_intent.destination, p_used => p_size, p_reserved => -coalesce(p_intent.size_bytes, 0));
    -- What was read and hashed on the way is verified too.
    if p_sha256 is not null and reaper_internal.is_digest(p_intent.content_hash) then
        update reaper.object_locations l set verified_at = p_now
         where l.content_hash = p_intent.content_hash and l.backend = p_source and l.trouble is null;
    end if;
    if p_intent.replaces_backend <> p_intent.destination then
        v_replaced := reaper_internal.replace_copy(p_intent, p_now) or v_replaced;
    end if;
    return case when not v_replaced then 'copied' when p_intent.purpose = 'move' then 'moved' else 'repaired' end;
end;
$$;
comment on function reaper_internal.store_copy(reaper.copy_intents, text, bigint, text, boolean, timestamptz) is
    'For commit_copy, whose lock on the content it needs: records the new copy, books its bytes, removes the copy that it replaces; copied, moved or repaired.';
revoke all on function reaper_internal.store_copy(reaper.copy_intents, text, bigint, text, boolean, timestamptz) from public;
