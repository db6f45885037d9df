-- queue_counts: how many deletions are queued, how many are in the DLQ, how many puts and copies are in progress, and how many contents want or exceed copies.
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
    select 'puts in progress', count(*) from reaper.put_intents
    union all
    select 'copies in progress', count(*) from reaper.copy_intents
    union all
    select 'contents that want a copy', count(*) from reaper.copy_wants
    union all
    select 'contents with too many copies', count(*) from reaper.copy_excess;
$$;
comment on function reaper.queue_counts() is
    'Number of objects and cache entries queued for deletion, of DLQ entries, of puts and copies in progress, and of contents that have too few or too many copies.';
revoke all on function reaper.queue_counts() from public;
grant execute on function reaper.queue_counts() to reaper_worker, reaper_ops, reaper_ro;
