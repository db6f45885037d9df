-- queue_failed_objects: every object of the batch that is not confirmed gone is owed a deletion: later, or by an operator.
-- With nothing tried (p_failed null) all are due at once and no attempt is counted.
create or replace function reaper.queue_failed_objects(p_batch reaper.batches, p_failed jsonb, p_now timestamptz)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_queued  integer;
    v_buried  integer;
begin
    insert into reaper.cleanup_queue as q (backend, object_key, content_hash, size_bytes, attempts, last_error, queued_at, next_attempt)
    select o.backend, o.object_key, o.content_hash, o.size_bytes,
           case when p_failed is null then 0 else 1 end,
           f.error,
           p_now,
           case when p_failed is null then p_now else p_now + interval '1 minute' end
      from unnest(p_batch.object_hashes, p_batch.object_backends, p_batch.object_keys, p_batch.object_sizes)
           as o (content_hash, backend, object_key, size_bytes)
      left join reaper.failed_objects(p_failed) as f on f.backend = o.backend and f.object_key = o.object_key
     where p_failed is null or f.permanent = false
        on conflict (backend, object_key) do update
       set last_error = excluded.last_error;
    get diagnostics v_queued = row_count;

    insert into reaper.cleanup_dlq (queue_id, backend, object_key, content_hash, size_bytes, attempts, last_error, queued_at, buried_at)
    select nextval(pg_get_serial_sequence('reaper.cleanup_queue', 'queue_id')),
           o.backend, o.object_key, o.content_hash, o.size_bytes, 1, f.error, p_now, p_now
      from unnest(p_batch.object_hashes, p_batch.object_backends, p_batch.object_keys, p_batch.object_sizes)
           as o (content_hash, backend, object_key, size_bytes)
      join reaper.failed_objects(p_failed) as f on f.backend = o.backend and f.object_key = o.object_key
     where f.permanent
        on conflict (backend, object_key) do update
       set last_error = excluded.last_error;
    get diagnostics v_buried = row_count;

    return v_queued + v_buried;
end;
$$;
comment on function reaper.queue_failed_objects(reaper.batches, jsonb, timestamptz) is
    'Internal to finish_batch: puts failed objects into cleanup_queue, permanent failures into cleanup_dlq; returns how many.';
revoke all on function reaper.queue_failed_objects(reaper.batches, jsonb, timestamptz) from public;
