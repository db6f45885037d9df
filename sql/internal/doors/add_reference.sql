-- add_reference: add one to the ref_count of existing content, or create it from the intent's bytes. The UPDATE waits for the
-- transaction that holds the row: a drop that deletes it, or the first of two writers; then the content row either exists or is deleted.
-- Between UPDATE and INSERT the row may appear or disappear; so it is a loop, bounded in case a trigger suppresses the writes.
create or replace function reaper_internal.add_reference(p_intent reaper.put_intents, p_uploaded boolean, p_now timestamptz)
    returns boolean
    language plpgsql volatile
as $$
begin
    for v_try in 1 .. 100 loop
        update reaper.content c
           set ref_count = coalesce(c.ref_count, 0) + 1
         where c.content_hash = p_intent.content_hash;
        if found then
            return false;
        end if;

        perform reaper_internal.require_key_column();
        perform reaper_internal.require_bytes(p_intent, p_uploaded);
        insert into reaper.content (content_hash, object_key, ref_count, size_bytes)
        values (p_intent.content_hash, p_intent.object_key, 1, p_intent.size_bytes)
            on conflict (content_hash) do nothing;
        if found then
            perform reaper_internal.record_copy(p_intent, p_now);
            return true;
        end if;
    end loop;
    raise exception serialization_failure using
        message = format('content %s can neither be updated nor inserted', p_intent.content_hash),
        hint    = 'Try again; if the error persists, a trigger on reaper.content suppresses the INSERT or the UPDATE.';
end;
$$;
comment on function reaper_internal.add_reference(reaper.put_intents, boolean, timestamptz) is
    'For finish_put: locks the content and adds one reference, or creates the content; true if it was created. RP002, RP003 or RP009 if it cannot be created.';
revoke all on function reaper_internal.add_reference(reaper.put_intents, boolean, timestamptz) from public;
