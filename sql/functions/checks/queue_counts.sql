-- queue_counts: how many deletions are queued, how many are in the DLQ, and how many puts are in progress.
create or replace function reaper.queue_counts()
    returns table (what text, number bigint)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select 'queued deletions', count(*) from reaper.cleanup_queue
    union all
    select 'DLQ entries', count(*) from reaper.cleanup_dlq
    union all
    select 'queued invalidations', count(*) from reaper.invalidations
    union all
    select 'puts in progress', count(*) from reaper.put_intents;
$$;
comment on function reaper.queue_counts() is
    'Number of objects and cache entries queued for deletion, of DLQ entries, and of puts in progress.';
revoke all on function reaper.queue_counts() from public;
grant execute on function reaper.queue_counts() to reaper_worker, reaper_ops, reaper_ro;
