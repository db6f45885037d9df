-- untracked_objects: the sightings of a backend that are old enough, in key order.
create or replace function reaper.untracked_objects(p_backend text, p_older_than interval default '1 day', p_after text default '', p_limit integer default 1000)
    returns table (object_key text, size_bytes bigint)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select s.object_key, s.size_bytes
      from reaper.sightings s
     where s.backend = p_backend and s.object_key > p_after and s.retired_at is null
       and s.first_seen <= reaper.clock() - p_older_than and s.last_seen >= s.first_seen + least(p_older_than, interval '1 day')
     order by s.object_key
     limit p_limit;
$$;
comment on function reaper.untracked_objects(text, interval, text, integer) is
    'Objects of a backend that no row names, first seen p_older_than ago or earlier and seen again at least a day (or p_older_than, if that is less) after that.';
revoke all on function reaper.untracked_objects(text, interval, text, integer) from public;
grant execute on function reaper.untracked_objects(text, interval, text, integer) to reaper_worker, reaper_ops, reaper_ro;
