-- write_off_dlq: remove DLQ entries without deleting their objects, because an object was removed by hand or may stay for ever. Its bytes
-- leave the byte account; the audit keeps its key.
-- An entry whose key is retired stays unless p_free_names is given: the object may still exist and a late deletion of it may still be
-- running, which would delete the same content stored under that key again. Keys that reaper generates are never reused.
create or replace function reaper.write_off_dlq(
    p_backend        text        default null,
    p_cause          text        default null,
    p_ids            bigint[]    default null,
    p_reason         text        default null,
    p_limit          integer     default 1000,
    p_buried_before  timestamptz default null,
    p_free_names     boolean     default false
)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_now     timestamptz := reaper.clock();
    v_picked  bigint[];
    v_keys    text[];
begin
    perform reaper_internal.require_reason(p_reason);
    v_picked := reaper_internal.lock_dlq(p_backend, p_cause, p_ids, p_buried_before, p_free_names, p_limit);
    with written_off as (
        delete from reaper.cleanup_dlq d
         where d.queue_id = any (v_picked)
        returning d.queue_id, d.backend, d.object_key, d.size_bytes, d.last_error
    ), freed as (
        insert into reaper.byte_deltas (backend, orphan_bytes)
        select w.backend, -sum(w.size_bytes) from written_off w group by w.backend having sum(w.size_bytes) <> 0
    ), noted as (
        insert into reaper.audit (at, who, action, subject, reason, detail)
        select v_now, session_user, 'write_off_dlq', w.backend || '/' || w.object_key, p_reason,
               format('number %s, %s bytes, %s', w.queue_id, coalesce(w.size_bytes::text, 'unknown'), w.last_error)
          from written_off w
         order by w.queue_id
    )
    select coalesce(array_agg(w.object_key), '{}') into v_keys from written_off w;
    perform reaper_internal.free_names(v_keys);
    return cardinality(v_keys);
end;
$$;
comment on function reaper.write_off_dlq(text, text, bigint[], text, integer, timestamptz, boolean) is
    'Removes up to p_limit DLQ entries without deleting any object; filters as in retry_dlq. A reason is required and kept in reaper.audit with the key of each object. '
    'An entry whose key is in reaper.retired_keys stays, unless p_free_names allows the key to be reused. Returns how many; call it until it returns 0.';
revoke all on function reaper.write_off_dlq(text, text, bigint[], text, integer, timestamptz, boolean) from public;
grant execute on function reaper.write_off_dlq(text, text, bigint[], text, integer, timestamptz, boolean) to reaper_ops;
