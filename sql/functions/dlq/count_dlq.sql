-- count_dlq: count DLQ entries by backend and cause, before a decision about them.
create or replace function reaper.count_dlq(
    p_backend        text        default null,
    p_cause          text        default null,
    p_ids            bigint[]    default null,
    p_buried_before  timestamptz default null
)
    returns table (backend text, cause text, objects bigint, bytes bigint, retired_names bigint, first_buried_at timestamptz, last_buried_at timestamptz,
                   objects_unsized bigint)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select d.backend,
           d.cause,
           count(*),
           least(coalesce(sum(d.size_bytes), 0), 9223372036854775807)::bigint,
           count(k.object_key),
           min(d.buried_at),
           max(d.buried_at),
           count(*) filter (where d.size_bytes is null)
      from reaper.cleanup_dlq d
      left join reaper.retired_keys k on k.object_key = d.object_key
     where (p_backend is null or d.backend = p_backend)
       and (p_cause is null or d.cause = p_cause)
       and (p_ids is null or d.queue_id = any (p_ids))
       and (p_buried_before is null or d.buried_at <= p_buried_before)
     group by d.backend, d.cause
     order by d.backend, d.cause;
$$;
comment on function reaper.count_dlq(text, text, bigint[], timestamptz) is
    'Counts DLQ entries by backend and cause. Filters: backend, cause, queue_ids, moved to the DLQ by p_buried_before; null = any. '
    'bytes is without the objects_unsized, whose size is unknown. retired_names: how many of them keep their object key from being reused.';
revoke all on function reaper.count_dlq(text, text, bigint[], timestamptz) from public;
grant execute on function reaper.count_dlq(text, text, bigint[], timestamptz) to reaper_worker, reaper_ops, reaper_ro;
