-- count_ownerless_rows: how many rows are marked in batches that nobody owns: a drop left them, since somebody held them.
create or replace function reaper.count_ownerless_rows()
    returns bigint
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select coalesce(sum(cardinality(b.short_codes)), 0) from reaper.batches b where b.state = 'CLAIMED' and b.worker is null;
$$;
comment on function reaper.count_ownerless_rows() is
    'How many rows wait, marked, until somebody else lets them go: a drain that finds nothing else to do looks again a little later.';
revoke all on function reaper.count_ownerless_rows() from public;
grant execute on function reaper.count_ownerless_rows() to reaper_worker, reaper_ops;
