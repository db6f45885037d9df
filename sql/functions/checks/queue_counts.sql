-- queue_counts: what is on its way out, given up, or on its way in.
create or replace function reaper.queue_counts()
    returns table (what text, number bigint)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select 'queued deletions', count(*) from reaper.cleanup_queue
    union all
    select 'dead letters', count(*) from reaper.cleanup_dlq
    union all
    select 'queued invalidations', count(*) from reaper.invalidations
    union all
    select 'puts under way', count(*) from reaper.put_intents;
$$;
comment on function reaper.queue_counts() is
    'How many deletions and invalidations are queued, how many were given up, and how many puts are under way.';
revoke all on function reaper.queue_counts() from public;
grant execute on function reaper.queue_counts() to reaper_worker, reaper_ops, reaper_ro;
