-- enqueue_invalidation: a cache entry that may live longer than its paste is to be dropped. Whoever tries the code at this
-- moment may have been before the entry that is meant now: the lease is taken away.
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
    'For delete_paste and extend_paste: queues a code whose cache entry is to be dropped, due at once.';
revoke all on function reaper_internal.enqueue_invalidation(text, timestamptz) from public;
