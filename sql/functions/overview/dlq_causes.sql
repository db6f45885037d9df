-- dlq_causes: the DLQ by backend and cause, each counted up to p_counted_to. One step along cleanup_dlq_cause for each group, so that a DLQ of
-- millions answers at once; count_dlq() counts exactly.
create or replace function reaper.dlq_causes(p_counted_to integer default 10000)
    returns table (backend text, cause text, objects bigint, bytes bigint, oldest timestamptz, example_key text, last_error text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    with recursive groups (backend, cause) as (
        (select d.backend, d.cause from reaper.cleanup_dlq d order by d.backend, d.cause limit 1)
        union all
        select l.backend, l.cause
          from groups g
         cross join lateral (select d.backend, d.cause from reaper.cleanup_dlq d
                              where (d.backend, d.cause) > (g.backend, g.cause) order by d.backend, d.cause limit 1) as l
    )
    select g.backend, g.cause, n.objects, n.bytes, f.buried_at, f.object_key, f.last_error
      from groups g
     cross join lateral (select count(*) as objects, least(coalesce(sum(c.size_bytes), 0), 9223372036854775807)::bigint as bytes
                           from (select d.size_bytes from reaper.cleanup_dlq d
                                  where d.backend = g.backend and d.cause = g.cause limit p_counted_to) as c) as n
     cross join lateral (select d.buried_at, d.object_key, d.last_error from reaper.cleanup_dlq d
                          where d.backend = g.backend and d.cause = g.cause order by d.queue_id limit 1) as f
     order by 1, 2;
$$;
comment on function reaper.dlq_causes(integer) is
    'DLQ entries by backend and cause with an example, the oldest; objects = p_counted_to means at least that many, bytes are those of the counted ones.';
revoke all on function reaper.dlq_causes(integer) from public;
grant execute on function reaper.dlq_causes(integer) to reaper_worker, reaper_ops, reaper_ro;
