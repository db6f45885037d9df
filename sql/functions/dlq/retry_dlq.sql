-- retry_dlq: queue DLQ entries for deletion again, after their cause was removed. An entry keeps its number and its attempts; its bytes
-- never left the byte account.
create or replace function reaper.retry_dlq(
    p_backend        text        default null,
    p_cause          text        default null,
    p_ids            bigint[]    default null,
    p_reason         text        default null,
    p_limit          integer     default 1000,
    p_buried_before  timestamptz default null
)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_now     timestamptz := reaper.clock();
    v_picked  bigint[]    := reaper_internal.lock_dlq(p_backend, p_cause, p_ids, p_buried_before, true, p_limit);
    v_moved   integer;
begin
    with moved as (
        delete from reaper.cleanup_dlq d
         where d.queue_id = any (v_picked)
           -- Only possible after the tables were changed by hand; then one row is enough.
           and not exists (select from reaper.cleanup_queue q where q.backend = d.backend and q.object_key = d.object_key)
        returning d.queue_id, d.backend, d.object_key, d.content_hash, d.size_bytes, d.last_error, d.queued_at, d.passes_left
    )
    insert into reaper.cleanup_queue (
        queue_id, backend, object_key, content_hash, size_bytes, last_error, queued_at, next_attempt, passes_left)
    overriding system value
    select m.queue_id, m.backend, m.object_key, m.content_hash, m.size_bytes, m.last_error, m.queued_at, v_now, m.passes_left
      from moved m;
    get diagnostics v_moved = row_count;
    if v_moved > 0 then
        perform reaper_internal.record_audit('retry_dlq', reaper_internal.dlq_filter_text(p_backend, p_cause, p_ids), p_reason,
                                    v_moved || case v_moved when 1 then ' object' else ' objects' end);
    end if;
    return v_moved;
end;
$$;
comment on function reaper.retry_dlq(text, text, bigint[], text, integer, timestamptz) is
    'Moves up to p_limit DLQ entries back to the cleanup queue, due at once. Filters: backend, cause, queue_ids, moved to the DLQ by p_buried_before; null = any. '
    'Returns how many; call it until it returns 0. Audited.';
revoke all on function reaper.retry_dlq(text, text, bigint[], text, integer, timestamptz) from public;
grant execute on function reaper.retry_dlq(text, text, bigint[], text, integer, timestamptz) to reaper_ops;
