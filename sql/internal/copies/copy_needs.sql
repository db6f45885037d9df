-- copy_needs: the one judgement of who needs copies and who has too many, for contents that exist. Content without a location row has one
-- copy, on backend default. A copy is good without trouble on a backend that is not dead; it counts if that is not being drained either.
-- Wanted is what has too few that count, a good one to copy from and an active backend without one; and what has none but bad ones, so that
-- it is named. Copies on dead backends count as possible excess: the cleaner removes one only when enough others answer.
create or replace function reaper_internal.copy_needs(p_hashes text[], p_now timestamptz)
    returns table (
        content_hash text, copies integer, good integer, counting integer, bad integer, draining integer,
        is_wanted boolean, is_excess boolean, reason text
    )
    language sql stable
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    with health as materialized (
        select * from reaper_internal.backend_health(p_now)
    ), bounds as materialized (
        select s.replication_factor as factor,
               (select count(*) from health h where h.state = 'active' and h.is_ours and not h.is_dead) as places
          from reaper.settings s
    ), judged as (
        select k.content_hash, count(*) as copies,
               count(*) filter (where k.is_good) as good,
               count(*) filter (where k.is_good and k.state <> 'draining') as counting,
               count(*) filter (where k.is_good and k.state = 'active' and k.is_ours) as placed,
               count(*) filter (where k.trouble is null and k.state <> 'draining') as stored,
               count(*) filter (where k.trouble is not null) as bad,
               count(*) filter (where k.trouble is null and k.state = 'draining') as draining,
               max(k.trouble) as trouble
          from (select x.content_hash, l.trouble, h.state, h.is_ours, l.trouble is null and not h.is_dead as is_good
                  -- Wherever the hashes come from, the index of our table has this collation.
                  from (select u.hash collate "C" as content_hash from unnest(p_hashes) as u (hash)) as x
                  left join reaper.object_locations l on l.content_hash = x.content_hash
                  join health h on h.backend = coalesce(l.backend, 'default')) as k
         group by k.content_hash
    )
    select j.content_hash, j.copies, j.good, j.counting, j.bad, j.draining,
           case when j.good > 0 then j.counting < b.factor and j.placed < b.places else j.bad > 0 end,
           j.stored > b.factor or (j.bad + j.draining > 0 and j.counting >= b.factor),
           coalesce(j.trouble, case when j.draining > 0 then 'draining' else 'few' end)
      from judged j
     cross join bounds b;
$$;
comment on function reaper_internal.copy_needs(text[], timestamptz) is
    'For each of these contents: its copies, how many are good, how many of those count, whether it needs another one, and whether it has one that can go.';
revoke all on function reaper_internal.copy_needs(text[], timestamptz) from public;
