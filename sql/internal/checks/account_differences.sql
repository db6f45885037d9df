-- account_differences: byte accounts that differ from the rows behind them. Every transaction changes both alike, so a difference is the
-- same in every snapshot, also while others write.
create or replace function reaper_internal.account_differences()
    returns table (backend text, kind text, booked numeric, found numeric)
    language sql stable
as $$
    with booked as (
        select d.backend, k.kind, k.bytes
          from reaper.byte_deltas d
         cross join lateral (values ('used', d.used_bytes), ('orphan', d.orphan_bytes), ('reserved', d.reserved_bytes)) as k (kind, bytes)
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
        union all
        select i.destination, 'reserved', coalesce(i.size_bytes, 0) from reaper.copy_intents i
    )
    select u.backend, u.kind, coalesce(sum(u.booked), 0), coalesce(sum(u.found), 0)
      from (select b.backend, b.kind, b.bytes, 0 from booked b
            union all
            select f.backend, f.kind, 0, f.bytes from found f) as u (backend, kind, booked, found)
     group by u.backend, u.kind
    having coalesce(sum(u.booked), 0) <> coalesce(sum(u.found), 0);
$$;
comment on function reaper_internal.account_differences() is
    'Backends whose used, orphan or reserved bytes differ from the rows behind them.';
revoke all on function reaper_internal.account_differences() from public;
