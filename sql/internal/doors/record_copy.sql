-- record_copy: record where the bytes of new content are stored. Copies that are still recorded for this hash belong to a content row that
-- was deleted by hand: they would never be read or released, so they are queued for deletion here.
create or replace function reaper_internal.record_copy(p_intent reaper.put_intents, p_now timestamptz)
    returns void
    language plpgsql volatile
as $$
begin
    with stale as (
        delete from reaper.object_locations l
         where l.content_hash = p_intent.content_hash
        returning l.backend, l.object_key, l.content_hash, l.size_bytes
    ), queued as (
        insert into reaper.cleanup_queue (backend, object_key, content_hash, size_bytes, queued_at, next_attempt)
        select s.backend, s.object_key, s.content_hash, s.size_bytes, p_now, p_now from stale s
    )
    insert into reaper.byte_deltas (backend, used_bytes, orphan_bytes)
    select s.backend, -s.size_bytes, s.size_bytes from stale s;

    perform reaper_internal.add_copies(array[p_intent.content_hash], array[p_intent.backend], array[p_intent.object_key],
                                          array[p_intent.size_bytes], array[p_now], p_now);
end;
$$;
comment on function reaper_internal.record_copy(reaper.put_intents, timestamptz) is
    'For add_reference: records the first copy of new content, whose row the caller holds.';
revoke all on function reaper_internal.record_copy(reaper.put_intents, timestamptz) from public;
