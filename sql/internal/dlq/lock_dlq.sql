-- lock_dlq: lock the DLQ entries that match, a bounded number of them. Entries that another transaction holds are skipped: two operators at
-- the same time share the work and settle no entry twice.
-- Planned anew each time: whether there is an index for it depends on which filters are given.
create or replace function reaper_internal.lock_dlq(
    p_backend        text,
    p_cause          text,
    p_ids            bigint[],
    p_buried_before  timestamptz,
    p_with_retired   boolean,
    p_limit          integer
)
    returns bigint[]
    language plpgsql volatile
    set plan_cache_mode = force_custom_plan
as $$
begin
    perform reaper_internal.require_limit(p_limit);
    return array(
        select d.queue_id
          from reaper.cleanup_dlq d
         where (p_backend is null or d.backend = p_backend)
           and (p_cause is null or d.cause = p_cause)
           and (p_ids is null or d.queue_id = any (p_ids))
           and (p_buried_before is null or d.buried_at <= p_buried_before)
           and (p_with_retired or not exists (select from reaper.retired_keys k where k.object_key = d.object_key))
         order by d.queue_id
         limit p_limit
           for update of d skip locked);
end;
$$;
comment on function reaper_internal.lock_dlq(text, text, bigint[], timestamptz, boolean, integer) is
    'For retry_dlq and write_off_dlq: locks up to p_limit DLQ entries that match and returns their numbers.';
revoke all on function reaper_internal.lock_dlq(text, text, bigint[], timestamptz, boolean, integer) from public;
