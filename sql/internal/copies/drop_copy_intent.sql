-- drop_copy_intent: end an intent whose object is not, or not to be, a copy. Bytes that may be stored under its key, or may still arrive, are
-- queued: a slow PUT may land after the first deletion, so the key is deleted twice.
create or replace function reaper_internal.drop_copy_intent(
    p_intent    reaper.copy_intents,
    p_uploaded  boolean,
    p_size      bigint,
    p_now       timestamptz,
    p_due       timestamptz
)
    returns void
    language plpgsql volatile
as $$
begin
    delete from reaper.copy_intents i where i.intent_id = p_intent.intent_id;
    perform reaper_internal.add_bytes(p_intent.destination, p_reserved => -coalesce(p_intent.size_bytes, 0));
    if p_uploaded then
        perform reaper_internal.enqueue_object(p_intent.content_hash, p_intent.destination, p_intent.object_key, p_size, 2, p_now, p_due);
    end if;
end;
$$;
comment on function reaper_internal.drop_copy_intent(reaper.copy_intents, boolean, bigint, timestamptz, timestamptz) is
    'For commit_copies, fail_copies and drop_stale_copies: deletes a locked intent, frees its reservation, and queues its key for two deletions if bytes may be stored there.';
revoke all on function reaper_internal.drop_copy_intent(reaper.copy_intents, boolean, bigint, timestamptz, timestamptz) from public;
