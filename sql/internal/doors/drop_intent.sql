-- drop_intent: end an intent so that no bytes stay behind. An upload that is slow, or whose answer was lost, may still finish: so the key is
-- deleted only after settings.intent_min_age, and then twice.
create or replace function reaper_internal.drop_intent(p_intent reaper.put_intents, p_uploaded boolean, p_now timestamptz)
    returns void
    language plpgsql volatile
as $$
declare
    -- Without a reservation no upload was required: whether an object exists, and its size, is unknown.
    v_bytes bigint := case when p_intent.reserved then p_intent.size_bytes end;
begin
    if p_uploaded then
        insert into reaper.cleanup_queue (backend, object_key, content_hash, size_bytes, queued_at, next_attempt, passes_left)
        select p_intent.backend, p_intent.object_key, p_intent.content_hash, v_bytes, p_now, p_now + s.intent_min_age, 2
          from reaper.settings s;
    end if;
    delete from reaper.put_intents i where i.intent_id = p_intent.intent_id;
    perform reaper_internal.add_bytes(
        p_intent.backend,
        p_orphan   => case when p_uploaded then coalesce(v_bytes, 0) else 0 end,
        p_reserved => -coalesce(v_bytes, 0));
end;
$$;
comment on function reaper_internal.drop_intent(reaper.put_intents, boolean, timestamptz) is
    'For abort_put and finish_intent: ends a locked intent, frees its reservation, and queues its key for deletion if bytes may be stored there.';
revoke all on function reaper_internal.drop_intent(reaper.put_intents, boolean, timestamptz) from public;
