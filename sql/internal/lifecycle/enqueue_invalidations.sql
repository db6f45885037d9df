-- enqueue_invalidations: queue the cache entries of many pastes for deletion, as enqueue_invalidation does for one. In the order of the
-- codes, like all who lock several of them.
create or replace function reaper_internal.enqueue_invalidations(p_short_codes text[], p_now timestamptz)
    returns void
    language sql volatile
as $$
    insert into reaper.invalidations as i (short_code, queued_at, next_attempt)
    select c.short_code, p_now, p_now from unnest(p_short_codes) as c (short_code) order by c.short_code collate "C"
        on conflict (short_code) do update
       set next_attempt = excluded.next_attempt, lease = null;
$$;
comment on function reaper_internal.enqueue_invalidations(text[], timestamptz) is
    'For apply_lifecycle_rule: queues codes whose cache entries are to be deleted, due at once.';
revoke all on function reaper_internal.enqueue_invalidations(text[], timestamptz) from public;
