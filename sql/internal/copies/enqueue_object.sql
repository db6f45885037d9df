-- enqueue_object: queue one object for deletion, with its bytes. A name that other content uses is not queued; one that may be used again is
-- retired in the same transaction.
create or replace function reaper_internal.enqueue_object(
    p_content_hash  text,
    p_backend       text,
    p_object_key    text,
    p_size_bytes    bigint,
    p_passes        integer,
    p_now           timestamptz,
    p_due           timestamptz
)
    returns void
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
begin
    if exists (select from reaper_internal.reusable_names(array[p_content_hash], array[p_backend], array[p_object_key])) then
        if reaper_internal.names_in_use(array[p_content_hash collate "default"], array[p_backend], array[p_object_key]) <> '{}' then
            return;
        end if;
        insert into reaper.retired_keys (object_key, retired_at) values (p_object_key, p_now) on conflict do nothing;
    end if;
    insert into reaper.cleanup_queue (backend, object_key, content_hash, size_bytes, queued_at, next_attempt, passes_left)
    values (p_backend, p_object_key, p_content_hash, p_size_bytes, p_now, p_due, p_passes)
        on conflict (backend, object_key) do nothing;
    if found then
        perform reaper_internal.add_bytes(p_backend, p_orphan => coalesce(p_size_bytes, 0));
    end if;
end;
$$;
comment on function reaper_internal.enqueue_object(text, text, text, bigint, integer, timestamptz, timestamptz) is
    'Queues an object for so many deletions from p_due on, books its bytes, and retires its name if that may be used again.';
revoke all on function reaper_internal.enqueue_object(text, text, text, bigint, integer, timestamptz, timestamptz) from public;
