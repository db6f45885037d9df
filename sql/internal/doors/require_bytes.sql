-- require_bytes: content is created only from bytes that were uploaded to the backend, and that had room reserved there.
create or replace function reaper_internal.require_bytes(p_intent reaper.put_intents, p_uploaded boolean)
    returns void
    language plpgsql immutable
as $$
begin
    if not p_intent.reserved then
        raise exception sqlstate 'RP003' using
            message = format('content %s was deleted or has no good copy, and intent %s has no reservation for its bytes', p_intent.content_hash, p_intent.intent_id),
            hint    = 'Call abort_put for this intent, then begin_put again. When the put began, the content had a good copy and no backend had room.';
    end if;
    if not p_uploaded then
        raise exception sqlstate 'RP002' using
            message = format('content %s was deleted or has no good copy, its bytes must be uploaded', p_intent.content_hash),
            hint    = format('Upload them to backend %s under %s, then call commit_put again with p_uploaded => true.',
                             p_intent.backend, p_intent.object_key);
    end if;
end;
$$;
comment on function reaper_internal.require_bytes(reaper.put_intents, boolean) is
    'For add_reference: RP002 if nothing was uploaded, RP003 if no room is reserved.';
revoke all on function reaper_internal.require_bytes(reaper.put_intents, boolean) from public;
