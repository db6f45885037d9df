-- finish_batch: settle a RELEASED batch. What succeeded outside is forgotten, what failed moves to a queue, in one transaction.
-- Only keys and codes of this very batch are accepted: nobody can queue an object for deletion that nobody released.
create or replace function reaper.finish_batch(p_batch_id uuid, p_failed jsonb default null)
    returns table (
        rows_deleted integer, rows_returned integer, rows_blocked integer,
        objects_deleted integer, objects_failed integer, bytes_freed bigint, invalidations_failed integer
    )
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
    v_now      timestamptz := reaper.clock();
    v_batch    reaper.batches;
    v_objects  integer;
    v_codes    integer;
    v_bytes    bigint;
begin
    v_batch := reaper.hold_batch(p_batch_id, '{RELEASED}');
    perform reaper.require_failures_of_batch(v_batch, p_failed);

    v_objects := reaper.queue_failed_objects(v_batch, p_failed, v_now);
    v_codes := reaper.queue_failed_codes(v_batch, p_failed, v_now);

    -- A retired name is free again as soon as its object is confirmed gone.
    delete from reaper.retired_keys k
     where k.object_key = any (v_batch.object_keys)
       and not exists (select from reaper.cleanup_queue q where q.object_key = k.object_key)
       and not exists (select from reaper.cleanup_dlq d where d.object_key = k.object_key);

    select least(coalesce(sum(o.size_bytes), 0), 9223372036854775807)
      into v_bytes
      from unnest(v_batch.object_backends, v_batch.object_keys, v_batch.object_sizes) as o (backend, object_key, size_bytes)
     where not exists (select from reaper.cleanup_queue q where q.backend = o.backend and q.object_key = o.object_key)
       and not exists (select from reaper.cleanup_dlq d where d.backend = o.backend and d.object_key = o.object_key);

    delete from reaper.batches b where b.batch_id = p_batch_id;

    return query
        insert into reaper.runs as r (
            batch_id, worker, rows_claimed, rows_deleted, rows_returned, rows_blocked, objects_deleted, objects_failed,
            bytes_freed, invalidations_failed, claimed_at, released_at, finished_at)
        values (
            p_batch_id, v_batch.worker, v_batch.rows_claimed, cardinality(v_batch.short_codes), v_batch.rows_returned,
            v_batch.rows_blocked, cardinality(v_batch.object_keys) - v_objects, v_objects,
            v_bytes, v_codes, v_batch.claimed_at, v_batch.released_at, v_now)
        returning r.rows_deleted, r.rows_returned, r.rows_blocked,
                  r.objects_deleted, r.objects_failed, r.bytes_freed, r.invalidations_failed;
end;
$$;
comment on function reaper.finish_batch(uuid, jsonb) is
    'Settles a released batch and returns its figures. p_failed: null = nothing was done outside, everything is queued; ''[]'' = all succeeded; '
    'else the failures, [{"backend", "object_key", "error", "permanent"}] and [{"short_code", "error"}]. RP001 when the batch is lost, RP005 for keys that are not in it.';
revoke all on function reaper.finish_batch(uuid, jsonb) from public;
grant execute on function reaper.finish_batch(uuid, jsonb) to reaper_worker, reaper_ops;
