-- write_off_dlq: stop owing a deletion: somebody removed the object by hand, or it may stay for ever. Its bytes leave the account,
-- and the audit keeps its name, the last trace of it.
-- A retired name stays owed unless p_free_names is given: the object may still be there and a late deletion of it still on its
-- way, and who stored the same content under that name again would lose it. Names that reaper made are never used twice.
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
    'Forgets up to p_limit dead letters without deleting anything; the filters are those of retry_dlq, a reason is required and kept in reaper.audit with the name of each object. '
    'An object whose name is in reaper.retired_keys is left, unless p_free_names says that the name may be used again. Returns how many; call it until it returns 0.';
revoke all on function reaper.write_off_dlq(text, text, bigint[], text, integer, timestamptz, boolean) from public;
grant execute on function reaper.write_off_dlq(text, text, bigint[], text, integer, timestamptz, boolean) to reaper_ops;
