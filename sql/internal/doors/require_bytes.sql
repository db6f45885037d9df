-- require_bytes: content is made only of bytes that lie on the backend, and that had room reserved there.
create or replace function reaper_internal.require_bytes(p_intent reaper.put_intents, p_uploaded boolean)
    returns void
    language plpgsql immutable
as $$
begin
    if not p_intent.reserved then
        raise exception sqlstate 'RP003' using
            message = format('content %s is gone, and intent %s has no room reserved for its bytes', p_intent.content_hash, p_intent.intent_id),
            hint    = 'Begin again: when the put began, the content was there and no backend had room. Call abort_put for this intent.';
    end if;
    if not p_uploaded then
        raise exception sqlstate 'RP002' using
            message = format('content %s is gone, its bytes are needed', p_intent.content_hash),
            hint    = format('Upload them to backend %s under %s, then call commit_put again with p_uploaded => true.',
                             p_intent.backend, p_intent.object_key);
    end if;
end;
$$;
comment on function reaper_internal.require_bytes(reaper.put_intents, boolean) is
    'For add_reference: RP002 when nothing was uploaded, RP003 when no room is reserved.';
revoke all on function reaper_internal.require_bytes(reaper.put_intents, boolean) from public;
