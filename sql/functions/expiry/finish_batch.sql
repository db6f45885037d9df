-- finish_batch: settle a RELEASED batch, in one transaction. Objects and cache entries that were deleted leave the batch, failed ones move
-- to a queue. Only keys and codes of this batch are accepted, so no caller can queue an object that was not released.
create or replace function reaper.finish_batch(p_batch_id uuid, p_failed jsonb default null)
    returns table (
        rows_deleted integer, rows_returned integer, rows_blocked integer,
        objects_deleted integer, objects_failed integer, bytes_freed bigint, invalidations_failed integer,
        dead_letters integer, objects_unsized integer
    )
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
    v_now      timestamptz := reaper.clock();
    v_batch    reaper.batches;
    v_objects  record;
    v_codes    integer;
    v_keep     boolean := (select s.keep_codes > interval '0' from reaper.settings s);
begin
    v_batch := reaper_internal.lock_batch(p_batch_id, '{RELEASED}');
    perform reaper_internal.require_failures_of_batch(v_batch, p_failed);

    select * into v_objects from reaper_internal.finish_objects(v_batch, p_failed, v_now);
    v_codes := reaper_internal.enqueue_failed_codes(v_batch, p_failed, v_now);

    perform reaper_internal.free_names(v_batch.object_keys);
    delete from reaper.batches b where b.batch_id = p_batch_id;

    return query
        insert into reaper.runs as r (
            batch_id, worker, rows_claimed, rows_deleted, rows_returned, rows_blocked, objects_deleted, objects_failed,
            bytes_freed, invalidations_failed, dead_letters, objects_unsized, claimed_at, released_at, finished_at, held_since, short_codes, content_hashes)
        values (
            p_batch_id, v_batch.worker, v_batch.rows_claimed, cardinality(v_batch.short_codes), v_batch.rows_returned,
            v_batch.rows_blocked, cardinality(v_batch.object_keys) - v_objects.objects_failed, v_objects.objects_failed,
            v_objects.bytes_freed, v_codes, v_objects.dead_letters, v_objects.objects_unsized, v_batch.claimed_at, v_batch.released_at, v_now, v_batch.held_since,
            case when v_keep then v_batch.short_codes end, case when v_keep then v_batch.object_hashes end)
        returning r.rows_deleted, r.rows_returned, r.rows_blocked,
                  r.objects_deleted, r.objects_failed, r.bytes_freed, r.invalidations_failed, r.dead_letters, r.objects_unsized;
end;
$$;
comment on function reaper.finish_batch(uuid, jsonb) is
    'Settles a released batch and returns its figures; of objects_failed, dead_letters went to the DLQ, the others to the cleanup queue. p_failed: null = no deletion was tried, everything is queued; ''[]'' = all succeeded; '
    'else the failures, [{"backend", "object_key", "error", "permanent", "outage"}] and [{"short_code", "error"}]. RP001 if the batch is no longer held, RP005 for keys that are not in it.';
revoke all on function reaper.finish_batch(uuid, jsonb) from public;
grant execute on function reaper.finish_batch(uuid, jsonb) to reaper_worker, reaper_ops;
