-- finish_deleted: settle the objects of a lease that are not reported as failed. If a slow upload may still finish, the key stays queued for
-- its second deletion; all others leave the queue and the byte account in one statement.
create or replace function reaper_internal.finish_deleted(p_lease uuid, p_failed jsonb, p_now timestamptz)
    returns integer
    language plpgsql volatile
    set enable_seqscan = off
    set jit = off
as $$
declare
    v_keys text[];
begin
    update reaper.cleanup_queue q
       set passes_left = q.passes_left - 1, attempts = 0, last_error = null, lease = null, next_attempt = p_now + s.intent_min_age
      from reaper.settings s
     where q.lease = p_lease
       and q.passes_left > 1
       and not exists (select from reaper_internal.failed_objects(p_failed) as f where f.backend = q.backend and f.object_key = q.object_key);

    with gone as (
        delete from reaper.cleanup_queue q
         where q.lease = p_lease
           and not exists (select from reaper_internal.failed_objects(p_failed) as f where f.backend = q.backend and f.object_key = q.object_key)
        returning q.backend, q.object_key, q.size_bytes
    ), freed as (
        insert into reaper.byte_deltas (backend, orphan_bytes)
        select g.backend, -sum(g.size_bytes) from gone g group by g.backend having sum(g.size_bytes) <> 0
    )
    select coalesce(array_agg(g.object_key), '{}') into v_keys from gone g;
    perform reaper_internal.free_names(v_keys);
    return cardinality(v_keys);
end;
$$;
comment on function reaper_internal.finish_deleted(uuid, jsonb, timestamptz) is
    'For finish_cleanup: settles the deleted objects; returns how many left the queue.';
revoke all on function reaper_internal.finish_deleted(uuid, jsonb, timestamptz) from public;
