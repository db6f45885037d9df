-- recent_speed: speed of the last batches, all workers together.
-- Only time in which some batch was in work counts: not the hours between two drains, nor the time in which a released batch waited for a
-- worker to adopt it. Batches that took over 10 minutes all the same are left out; so are batches of collect_unreferenced, which have no rows.
create or replace function reaper.recent_speed()
    returns table (batches bigint, rows_deleted bigint, bytes_freed bigint, seconds numeric, rows_per_second numeric)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    with last as (
        select r.rows_deleted, r.bytes_freed, r.claimed_at, r.released_at, r.finished_at,
               least(greatest(r.released_at, r.held_since), r.finished_at) as settled_from
          from (select * from reaper.runs r order by r.run_id desc limit 100) as r
         where r.rows_claimed > 0
           and r.released_at between r.claimed_at and r.finished_at
    ), recent as (
        select l.rows_deleted, l.bytes_freed,
               tstzmultirange(tstzrange(l.claimed_at, l.released_at), tstzrange(l.settled_from, l.finished_at)) as busy
          from last l
         where (l.released_at - l.claimed_at) + (l.finished_at - l.settled_from) <= interval '10 minutes'
    ), total as (
        select count(*) as batches,
               coalesce(sum(r.rows_deleted), 0)::bigint as rows_deleted,
               coalesce(sum(r.bytes_freed), 0)::bigint as bytes_freed,
               (select coalesce(sum(extract(epoch from upper(span) - lower(span))), 0)
                  from (select range_agg(b.span) as spans from recent o cross join lateral unnest(o.busy) as b (span)) as a
                 cross join lateral unnest(a.spans) as span) as seconds
          from recent r
    )
    select t.batches, t.rows_deleted, t.bytes_freed, t.seconds, round(t.rows_deleted / nullif(t.seconds, 0), 1)
      from total t;
$$;
comment on function reaper.recent_speed() is
    'Figures of the last 100 batches, and the seconds in which at least one of them was in work; rows_per_second is null before the first run.';
revoke all on function reaper.recent_speed() from public;
grant execute on function reaper.recent_speed() to reaper_worker, reaper_ops, reaper_ro;
