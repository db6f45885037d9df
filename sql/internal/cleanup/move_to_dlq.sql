-- move_to_dlq: move objects that were refused permanently, or for the tenth time, from the queue to the DLQ: one statement, so that no crash
-- and no snapshot finds them in both or in neither. Their bytes are still stored, so the byte account does not change.
create or replace function reaper_internal.move_to_dlq(p_lease uuid, p_failed jsonb, p_now timestamptz)
    returns void
    language sql volatile
    set enable_seqscan = off
    set jit = off
as $$
    with buried as (
        delete from reaper.cleanup_queue q
         using reaper_internal.failed_objects(p_failed) as f
         where q.lease = p_lease
           and f.backend = q.backend and f.object_key = q.object_key
           and (f.permanent or (q.attempts >= 9 and not f.outage))
        returning q.queue_id, q.backend, q.object_key, q.content_hash, q.size_bytes, q.attempts, q.queued_at, q.passes_left, f.error
    ), moved as (
        insert into reaper.cleanup_dlq (
            queue_id, backend, object_key, content_hash, size_bytes, attempts, last_error, queued_at, buried_at, cause, passes_left)
        select b.queue_id, b.backend, b.object_key, b.content_hash, b.size_bytes, b.attempts + 1, b.error, b.queued_at, p_now,
               reaper.error_cause(b.error), b.passes_left
          from buried b
            on conflict (backend, object_key) do update
           set size_bytes = excluded.size_bytes, attempts = excluded.attempts, last_error = excluded.last_error, cause = excluded.cause
        returning backend, object_key, size_bytes, cause
    )
    select reaper_internal.emit_exhausted(m.backend, m.cause, count(*), sum(m.size_bytes), array_agg(m.object_key order by m.object_key))
      from moved m
     group by m.backend, m.cause;
$$;
comment on function reaper_internal.move_to_dlq(uuid, jsonb, timestamptz) is
    'For finish_cleanup: moves permanent failures, and objects with ten failed attempts, to cleanup_dlq, with their cause.';
revoke all on function reaper_internal.move_to_dlq(uuid, jsonb, timestamptz) from public;
