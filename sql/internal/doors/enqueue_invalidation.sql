-- enqueue_invalidation: queue a cache entry for deletion that may live longer than its paste. A worker that leased the code before may have
-- deleted an earlier entry: the lease is removed.
create or replace function reaper_internal.enqueue_invalidation(p_short_code text, p_now timestamptz)
    returns void
    language sql volatile
as $$
    insert into reaper.invalidations as i (short_code, queued_at, next_attempt)
    values (p_short_code, p_now, p_now)
        on conflict (short_code) do update
       set next_attempt = excluded.next_attempt, lease = null;
$$;
comment on function reaper_internal.enqueue_invalidation(text, timestamptz) is
    'For delete_paste and extend_paste: queues a code whose cache entry is to be deleted, due at once.';
revoke all on function reaper_internal.enqueue_invalidation(text, timestamptz) from public;
