-- repair_copy: content exists and none of its copies is good: the bytes of this put become one, verified by its writer. A bad copy on the same
-- backend is replaced, others are removed by the services of copies. The caller holds the content's row; on a backend that is dead and has a
-- copy the bytes are not recorded, and are queued for deletion like those of any put whose content exists.
create or replace function reaper_internal.repair_copy(p_intent reaper.put_intents, p_now timestamptz)
    returns boolean
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_stored boolean;
begin
    perform reaper_internal.record_implicit_copy(p_intent.content_hash, p_intent.size_bytes, p_now);
    perform reaper_internal.replace_bad_copy(p_intent.content_hash, p_intent.backend, p_intent.object_key, p_intent.size_bytes, p_now);
    v_stored := 1 = reaper_internal.add_copies(array[p_intent.content_hash], array[p_intent.backend], array[p_intent.object_key],
                                                  array[p_intent.size_bytes], array[p_now], p_now);
    update reaper.content c set size_bytes = p_intent.size_bytes
     where c.content_hash = (select p_intent.content_hash collate "default") and coalesce(c.size_bytes, 0) = 0 and p_intent.size_bytes > 0;
    perform reaper_internal.sync_needs(array[p_intent.content_hash], p_now);
    return v_stored;
end;
$$;
comment on function reaper_internal.repair_copy(reaper.put_intents, timestamptz) is
    'For add_reference: records the bytes of a put as a copy of content that has no good one; false if they could not be.';
revoke all on function reaper_internal.repair_copy(reaper.put_intents, timestamptz) from public;
