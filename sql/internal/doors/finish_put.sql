-- finish_put: reference, paste, byte accounts and the end of the intent, in one transaction.
-- If the content exists already, the bytes uploaded for this intent are queued for deletion, under a key that only this intent ever had.
create or replace function reaper_internal.finish_put(p_intent reaper.put_intents, p_uploaded boolean, p_now timestamptz)
    returns boolean
    language plpgsql volatile
as $$
declare
    v_stored  boolean := reaper_internal.add_reference(p_intent, p_uploaded, p_now);
    v_spare   boolean := p_uploaded and not v_stored;
begin
    insert into reaper.pastes (short_code, content_hash, expires_at, deletion_status)
    values (p_intent.short_code, p_intent.content_hash, p_intent.expires_at, 'NOT_EXPIRED')
        on conflict (short_code) do nothing;
    if not found then
        perform reaper_internal.raise_code_taken(p_intent.short_code);
    end if;

    if v_spare then
        insert into reaper.cleanup_queue (backend, object_key, content_hash, size_bytes, queued_at, next_attempt)
        values (p_intent.backend, p_intent.object_key, p_intent.content_hash, p_intent.size_bytes, p_now, p_now);
    end if;
    delete from reaper.put_intents i where i.intent_id = p_intent.intent_id;
    perform reaper_internal.add_bytes(
        p_intent.backend,
        p_used     => case when v_stored then p_intent.size_bytes else 0 end,
        p_orphan   => case when v_spare then p_intent.size_bytes else 0 end,
        p_reserved => case when p_intent.reserved then -p_intent.size_bytes else 0 end);
    return v_stored;
end;
$$;
comment on function reaper_internal.finish_put(reaper.put_intents, boolean, timestamptz) is
    'For commit_put and finish_intent: creates the paste of a locked intent and ends the intent; true if the intent''s own bytes became the content''s.';
revoke all on function reaper_internal.finish_put(reaper.put_intents, boolean, timestamptz) from public;
