-- add_reference: add one to the ref_count of existing content, or create it from the intent's bytes; they also become a copy of existing
-- content that has no good one. The UPDATE waits for the
-- transaction that holds the row: a drop that deletes it, or the first of two writers; then the content row either exists or is deleted.
-- Between UPDATE and INSERT the row may appear or disappear; so it is a loop, bounded in case a trigger suppresses the writes.
create or replace function reaper_internal.add_reference(p_intent reaper.put_intents, p_uploaded boolean, p_now timestamptz)
    returns boolean
    language plpgsql volatile
as $$
declare
    v_hash  text := p_intent.content_hash;
begin
    -- A bad copy may be replaced, and the key with it: then the strong lock comes first, for to raise it later could deadlock.
    if exists (select from reaper.object_locations l where l.content_hash = v_hash and l.trouble is not null) then
        perform from reaper.content c where c.content_hash = v_hash for update;
    end if;
    for v_try in 1 .. 100 loop
        update reaper.content c
           set ref_count = coalesce(c.ref_count, 0) + 1
         where c.content_hash = v_hash;
        if found then
            if not reaper_internal.needs_bytes(v_hash, p_now) then
                return false;
            end if;
            perform reaper_internal.require_bytes(p_intent, p_uploaded);
            return reaper_internal.repair_copy(p_intent, p_now);
        end if;

        perform reaper_internal.require_key_column();
        perform reaper_internal.require_bytes(p_intent, p_uploaded);
        insert into reaper.content (content_hash, object_key, ref_count, size_bytes)
        values (p_intent.content_hash, p_intent.object_key, 1, p_intent.size_bytes)
            on conflict (content_hash) do nothing;
        if found then
            perform reaper_internal.record_copy(p_intent, p_now);
            if (select s.replication_factor from reaper.settings s) > 1 then
                perform reaper_internal.sync_needs(array[v_hash], p_now);
            end if;
            return true;
        end if;
    end loop;
    raise exception serialization_failure using
        message = format('content %s can neither be updated nor inserted', p_intent.content_hash),
        hint    = 'Try again; if the error persists, a trigger on reaper.content suppresses the INSERT or the UPDATE.';
end;
$$;
comment on function reaper_internal.add_reference(reaper.put_intents, boolean, timestamptz) is
    'For finish_put: locks the content and adds one reference, or creates the content; true if the intent''s bytes are its copy. RP002, RP003 or RP009 if they are needed and cannot be.';
revoke all on function reaper_internal.add_reference(reaper.put_intents, boolean, timestamptz) from public;
