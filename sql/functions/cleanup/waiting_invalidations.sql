-- waiting_invalidations: how many cache entries are queued for deletion and not due, and when the first of them is.
create or replace function reaper.waiting_invalidations()
    returns table (number bigint, until timestamptz)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select count(*), min(i.next_attempt) from reaper.invalidations i where i.next_attempt > reaper.clock();
$$;
comment on function reaper.waiting_invalidations() is
    'Number of cache entries that are queued for deletion and not due yet, leased ones included, and when the first of them is due; null if there is none.';
revoke all on function reaper.waiting_invalidations() from public;
grant execute on function reaper.waiting_invalidations() to reaper_worker, reaper_ops, reaper_ro;
