-- finish_objects: queue every object of the batch whose deletion was not confirmed: for a retry, or in the DLQ for an operator.
-- If no deletion was tried (p_failed null) all are due at once and no attempt is counted; an outage is not counted either, and objects of
-- a backend with an open circuit are due as soon as it closes. Deleted objects leave the byte account in the same statement.
create or replace function reaper_internal.finish_objects(
    in  p_batch          reaper.batches,
    in  p_failed         jsonb,
    in  p_now            timestamptz,
    out objects_failed   integer,
    out dead_letters     integer,
    out bytes_freed      bigint,
    out objects_unsized  integer
)
    language plpgsql volatile
as $$
begin
    if p_failed = '[]' then
        with freed as (
            select o.backend, sum(o.size_bytes) as bytes, count(*) filter (where o.size_bytes is null) as unsized
              from unnest(p_batch.object_backends, p_batch.object_sizes) as o (backend, size_bytes)
             group by o.backend
        ), booked as (
            insert into reaper.byte_deltas (backend, orphan_bytes) select f.backend, - f.bytes from freed f where f.bytes <> 0
        )
        select 0, 0, least(coalesce(sum(f.bytes), 0), 9223372036854775807), coalesce(sum(f.unsized), 0)
          into objects_failed, dead_letters, bytes_freed, objects_unsized
          from freed f;
        return;
    end if;

    with settled as materialized (
        select o.content_hash, o.backend, o.object_key, o.size_bytes, f.error, f.permanent,
               p_failed is null or f.object_key is not null as failed,
               p_failed is not null and not f.outage as counted,
               -- Behind a circuit that is not closed a pause is pointless: claims skip the backend.
               p_failed is null or (f.outage and exists (select from reaper.circuits c where c.backend = o.backend and c.state <> 'closed'))
                   as due_at_once
          from unnest(p_batch.object_hashes, p_batch.object_backends, p_batch.object_keys, p_batch.object_sizes)
               as o (content_hash, backend, object_key, size_bytes)
          left join reaper_internal.failed_objects(p_failed) as f on f.backend = o.backend and f.object_key = o.object_key
    ), queued as (
        insert into reaper.cleanup_queue (backend, object_key, content_hash, size_bytes, attempts, outages, last_error, queued_at, next_attempt)
        select s.backend, s.object_key, s.content_hash, s.size_bytes,
               case when s.counted then 1 else 0 end,
               case when s.error is not null and not s.counted then 1 else 0 end,
               s.error,
               p_now,
               case when s.due_at_once then p_now else p_now + reaper_internal.retry_pause(1) end
          from settled s
         where s.failed and s.permanent is not true
            on conflict (backend, object_key) do nothing
        returning backend, size_bytes
    ), buried as (
        insert into reaper.cleanup_dlq (queue_id, backend, object_key, content_hash, size_bytes, attempts, last_error, cause, queued_at, buried_at)
        select nextval(pg_get_serial_sequence('reaper.cleanup_queue', 'queue_id')),
               s.backend, s.object_key, s.content_hash, s.size_bytes, 1, s.error, reaper.error_cause(s.error), p_now, p_now
          from settled s
         where s.permanent
            on conflict (backend, object_key) do nothing
        returning backend, size_bytes
    ), booked as (
        insert into reaper.byte_deltas (backend, orphan_bytes)
        select o.backend, sum(o.bytes)
          from (select s.backend, - s.size_bytes from settled s
                union all
                select q.backend, q.size_bytes from queued q
                union all
                select d.backend, d.size_bytes from buried d) as o (backend, bytes)
         group by o.backend
        having sum(o.bytes) <> 0
    )
    select count(*) filter (where s.failed),
           count(*) filter (where s.failed and s.permanent),
           least(coalesce(sum(s.size_bytes) filter (where not s.failed), 0), 9223372036854775807),
           count(*) filter (where not s.failed and s.size_bytes is null)
      into objects_failed, dead_letters, bytes_freed, objects_unsized
      from settled s;
    if dead_letters > 0 then
        perform reaper_internal.emit_exhausted(d.backend, d.cause, count(*), sum(d.size_bytes), array_agg(d.object_key order by d.object_key))
           from reaper.cleanup_dlq d
          where d.backend = any (p_batch.object_backends) and d.object_key = any (p_batch.object_keys) and d.buried_at = p_now
          group by d.backend, d.cause;
    end if;
end;
$$;
comment on function reaper_internal.finish_objects(reaper.batches, jsonb, timestamptz) is
    'For finish_batch: puts failed objects into cleanup_queue, permanent failures into cleanup_dlq, and subtracts the bytes of all others from the account.';
revoke all on function reaper_internal.finish_objects(reaper.batches, jsonb, timestamptz) from public;
