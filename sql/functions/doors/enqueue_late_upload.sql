-- enqueue_late_upload: a writer slept so long that its intent was ended without it, and then its upload came through after all. Nobody
-- would ever look for these bytes again: their key is queued, as that of an intent which is dropped.
-- Safe, since a key of ours becomes content only by the commit of its one intent: without that it is content now, or never.
-- Whatever PostgreSQL knows in any way, as content or as owed, is left alone; and no name but those that we make is taken.
-- A key that is queued already may have been deleted just before its bytes came, by somebody who has yet to say so: it is to
-- be deleted twice from here on, and once more where that one settles its lease.
create or replace function reaper.enqueue_late_upload(p_backend text, p_object_key text, p_content_hash text, p_size_bytes bigint)
    returns boolean
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_now     timestamptz := reaper.clock();
    v_queued  boolean;
begin
    perform reaper_internal.require_read_committed();
    if p_object_key is null
       or p_object_key is distinct from left(p_content_hash, 2) || '/' || p_content_hash || '/' || right(p_object_key, 32)
       or right(p_object_key, 32) !~ '^[0-9a-f]{32}$'
       or not exists (select from reaper.backend_list b where b.name = p_backend)
    then
        raise exception sqlstate 'RP005' using
            message = format('%s on %s is not the key of an intent', coalesce(p_object_key, '(null)'), coalesce(p_backend, '(null)')),
            hint    = 'Give backend, object_key, content_hash and size_bytes as begin_put took and returned them.';
    end if;
    update reaper.cleanup_queue q set passes_left = 2 where q.backend = p_backend and q.object_key = p_object_key;
    if exists (select from reaper.known_objects(p_backend, array[p_object_key])) then
        return false;
    end if;

    insert into reaper.cleanup_queue (backend, object_key, content_hash, size_bytes, queued_at, next_attempt, passes_left)
    select p_backend, p_object_key, p_content_hash, p_size_bytes, v_now, v_now + s.intent_min_age, 2
      from reaper.settings s
        on conflict (backend, object_key) do nothing;
    v_queued := found;
    if v_queued then
        perform reaper_internal.add_bytes(p_backend, p_orphan => coalesce(p_size_bytes, 0));
    end if;
    return v_queued;
end;
$$;
comment on function reaper.enqueue_late_upload(text, text, text, bigint) is
    'After abort_put said that the intent is gone, though an upload to its key was begun: queues the key for deletion, unless it is content or owed already; whether it had to. '
    'Arguments as begin_put took and returned them; RP005 for other names, RP006 outside read committed.';
revoke all on function reaper.enqueue_late_upload(text, text, text, bigint) from public;
grant execute on function reaper.enqueue_late_upload(text, text, text, bigint) to reaper_worker, reaper_app, reaper_ops;
