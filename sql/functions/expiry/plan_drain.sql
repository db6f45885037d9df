-- plan_drain: what a drain would do now. Content is counted as freed only if every paste that names it is due, with all its copies: bytes
-- after dedup.
create or replace function reaper.plan_drain()
    returns table (
        rows_due bigint, rows_blocked bigint, oldest_due timestamptz,
        objects_freed bigint, bytes_freed bigint, objects_kept bigint, rows_per_second numeric
    )
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    with due as (
        select p.content_hash, count(*) as refs, min(p.expires_at) as oldest
          from public.pastes p
         where p.expires_at <= reaper.clock()
         group by p.content_hash
    ), judged as (
        select d.refs, d.oldest, coalesce(l.copies, 1) as copies, coalesce(l.bytes, c.size_bytes) as bytes,
               not exists (select from public.pastes p
                            where p.content_hash = d.content_hash
                              and (p.expires_at is null or p.expires_at > reaper.clock())) as freed
          from due d
          left join public.content c on c.content_hash = d.content_hash
          left join (select o.content_hash, count(*) as copies, sum(o.size_bytes) as bytes
                       from reaper.object_locations o
                      group by o.content_hash) as l on l.content_hash = d.content_hash collate "C"
    )
    select coalesce(sum(j.refs), 0)::bigint,
           (select count(*) from reaper.blocked b where b.next_attempt > reaper.clock()),
           min(j.oldest),
           coalesce(sum(j.copies) filter (where j.freed), 0)::bigint,
           least(coalesce(sum(j.bytes) filter (where j.freed), 0), 9223372036854775807)::bigint,
           count(*) filter (where not j.freed),
           (select s.rows_per_second from reaper.recent_speed() as s)
      from judged j;
$$;
comment on function reaper.plan_drain() is
    'What a drain would do now: due rows, objects and bytes that would be deleted, contents kept because a live paste names them, '
    'and the speed of the last batches. Read-only.';
revoke all on function reaper.plan_drain() from public;
grant execute on function reaper.plan_drain() to reaper_ops, reaper_ro, reaper_worker;
