-- delete_copy: a copy of living content goes: its row is deleted and its object queued, in one transaction; the bytes move from used to
-- queued. A reusable name is retired by the same commit, or the application could store bytes under it and lose them to the queue.
-- The caller holds the content's row and has recounted. Readers that know the copy have a minute until it is deleted.
create or replace function reaper_internal.delete_copy(p_content_hash text, p_backend text, p_object_key text, p_now timestamptz)
    returns boolean
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_size  bigint;
begin
    delete from reaper.object_locations l
     where l.content_hash = p_content_hash and l.backend = p_backend and l.object_key = p_object_key
    returning l.size_bytes into v_size;
    if not found then
        return false;
    end if;
    perform reaper_internal.add_bytes(p_backend, p_used => -v_size);
    perform reaper_internal.enqueue_object(p_content_hash, p_backend, p_object_key, v_size, 1, p_now, p_now + interval '1 minute');
    return true;
end;
$$;
comment on function reaper_internal.delete_copy(text, text, text, timestamptz) is
    'Deletes the location row of a copy whose content the caller holds, and queues its object for deletion; false if there is no such row.';
revoke all on function reaper_internal.delete_copy(text, text, text, timestamptz) from public;
