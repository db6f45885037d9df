-- waiting_deletions: the cleanup queue by backend, cause and age, from the first p_looked_at entries of each backend in the order in which they
-- are tried. A bounded look along cleanup_queue_due_by_backend; cleanup_backlog counts all of a queue, which takes seconds for a million.
create or replace function reaper.waiting_deletions(p_looked_at integer default 5000)
    returns table (backend text, cause text, age text, objects bigint, bytes bigint, due bigint, oldest timestamptz, next_attempt timestamptz,
                   complete boolean)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    with recursive now as materialized (
        select reaper.clock() as at
    ), named (backend) as (
        -- One step along the index for each backend; also for those that are no longer configured.
        (select q.backend from reaper.cleanup_queue q order by q.backend limit 1)
        union all
        select (select q.backend from reaper.cleanup_queue q where q.backend > n.backend order by q.backend limit 1)
          from named n where n.backend is not null
    ), looked as materialized (
        select n.backend, l.last_error, l.size_bytes, l.queued_at, l.next_attempt
          from named n
         cross join lateral (select q.last_error, q.size_bytes, q.queued_at, q.next_attempt
                               from reaper.cleanup_queue q where q.backend = n.backend
                              order by q.next_attempt limit p_looked_at + 1) as l
         where n.backend is not null
    ), sizes as (
        select l.backend, count(*) <= p_looked_at as complete from looked l group by l.backend
    ), grouped as (
        select l.backend, l.last_error,
               case when l.queued_at > w.at - interval '1 hour' then 'under 1 h' when l.queued_at > w.at - interval '1 day' then '1 h to 1 d'
                    when l.queued_at > w.at - interval '7 days' then '1 d to 7 d' else 'over 7 d' end as age,
               count(*) as objects, sum(l.size_bytes) as bytes, count(*) filter (where l.next_attempt <= w.at) as due,
               min(l.queued_at) as oldest, min(l.next_attempt) as next_attempt
          from looked l, now w
         group by 1, 2, 3
    )
    select g.backend, c.cause, g.age, sum(g.objects)::bigint, least(coalesce(sum(g.bytes), 0), 9223372036854775807)::bigint, sum(g.due)::bigint,
           min(g.oldest), min(g.next_attempt), s.complete
      from grouped g
      join sizes s on s.backend = g.backend
     cross join lateral (select case when g.last_error is not null then reaper.error_cause(g.last_error) end) as c (cause)
     group by g.backend, c.cause, g.age, s.complete
     order by g.backend, 7;
$$;
comment on function reaper.waiting_deletions(integer) is
    'Objects queued for deletion, by backend, code of the last error (null = not tried yet) and age, from the first p_looked_at entries of each backend; complete: there are no more.';
revoke all on function reaper.waiting_deletions(integer) from public;
grant execute on function reaper.waiting_deletions(integer) to reaper_worker, reaper_ops, reaper_ro;
