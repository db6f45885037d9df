-- check_accounts: the byte accounts must equal the rows that they stand for, backend by backend.
create or replace function reaper.check_accounts()
    returns table (invariant text, subject text, detail text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    with booked as (
        select d.backend, 'used' as kind, d.used_bytes as bytes from reaper.byte_deltas d
        union all
        select d.backend, 'orphan', d.orphan_bytes from reaper.byte_deltas d
        union all
        select d.backend, 'reserved', d.reserved_bytes from reaper.byte_deltas d
    ), found as (
        select l.backend, 'used' as kind, l.size_bytes as bytes from reaper.object_locations l
        union all
        select o.backend, 'orphan', o.size_bytes
          from reaper.batches b
         cross join unnest(b.object_backends, b.object_sizes) as o (backend, size_bytes)
        union all
        select q.backend, 'orphan', q.size_bytes from reaper.cleanup_queue q
        union all
        select d.backend, 'orphan', d.size_bytes from reaper.cleanup_dlq d
        union all
        select i.backend, 'reserved', i.size_bytes from reaper.put_intents i where i.reserved
    ), compared as (
        select u.backend, u.kind, coalesce(sum(u.booked), 0) as booked, coalesce(sum(u.found), 0) as found
          from (select b.backend, b.kind, b.bytes as booked, 0 as found from booked b
                union all
                select f.backend, f.kind, 0, f.bytes from found f) as u
         group by u.backend, u.kind
    )
    select 'the accounts equal the rows', c.backend, format('%s bytes are %s, the rows say %s', c.kind, c.booked, c.found)
      from compared c
     where c.booked <> c.found;
$$;
comment on function reaper.check_accounts() is
    'Internal to check_invariants: backends whose used, orphan or reserved bytes differ from the rows behind them.';
revoke all on function reaper.check_accounts() from public;
