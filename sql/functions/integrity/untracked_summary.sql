-- untracked_summary: what lies on the backends that no row names, by the shape of its keys: the plan of a deletion, counted before it.
create or replace function reaper.untracked_summary(p_older_than interval default '7 days')
    returns table (backend text, shape text, objects bigint, bytes numeric, old_objects bigint, old_bytes numeric, example text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select s.backend, s.shape, count(*), sum(s.size_bytes), count(*) filter (where s.is_old), coalesce(sum(s.size_bytes) filter (where s.is_old), 0),
           min(s.object_key)
      from (select t.backend, t.object_key, t.size_bytes,
                   case when t.object_key ~ '^([0-9a-f]{2})/\1[0-9a-f]+/[0-9a-f]{32}$' then 'reaper''s own'
                        when t.object_key ~ '(^|/)[0-9a-f]{64}$' then 'hash' else 'other' end as shape,
                   t.retired_at is null and t.first_seen <= reaper.clock() - p_older_than
                   and t.last_seen >= t.first_seen + least(p_older_than, interval '1 day') as is_old
              from reaper.sightings t) as s
     group by s.backend, s.shape
     order by s.backend, s.shape;
$$;
comment on function reaper.untracked_summary(interval) is
    'Objects that no row names, per backend and shape of key (reaper''s own, hash, other): all, and those that were seen for at least p_older_than. As of the last pass of the reconciler.';
revoke all on function reaper.untracked_summary(interval) from public;
grant execute on function reaper.untracked_summary(interval) to reaper_worker, reaper_ops, reaper_ro;
