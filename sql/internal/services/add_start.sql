-- add_start: remember a scheduled start of the drain, and forget those that no verdict needs: all before the last that is two hours old.
-- Starts within a minute count as one, so a continuous drain remembers 120.
create or replace function reaper_internal.add_start(p_starts timestamptz[], p_start timestamptz)
    returns timestamptz[]
    language sql stable
as $$
    with known as (
        select k.start
          from unnest(case when p_starts[cardinality(p_starts)] > p_start - interval '1 minute' then p_starts else p_starts || p_start end) as k (start)
    )
    select coalesce(array_agg(k.start order by k.start), '{}')
      from known k
     where k.start >= coalesce((select max(o.start) from known o where o.start <= reaper.clock() - interval '2 hours'), '-infinity');
$$;
comment on function reaper_internal.add_start(timestamptz[], timestamptz) is
    'The scheduled starts with p_start added, without those that are older than the last one before the past two hours.';
revoke all on function reaper_internal.add_start(timestamptz[], timestamptz) from public;
