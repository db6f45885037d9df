-- count_ownerless_rows: count rows marked in ownerless batches: a drop left them, since another transaction held them.
create or replace function reaper.count_ownerless_rows()
    returns bigint
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select coalesce(sum(cardinality(b.short_codes)), 0) from reaper.batches b where b.state = 'CLAIMED' and b.worker is null;
$$;
comment on function reaper.count_ownerless_rows() is
    'Number of marked rows in ownerless claimed batches, which another transaction held during their drop: a claim from the start takes them once they are free.';
revoke all on function reaper.count_ownerless_rows() from public;
grant execute on function reaper.count_ownerless_rows() to reaper_worker, reaper_ops;
