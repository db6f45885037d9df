-- finish_untracked: the second step: queue objects whose retirement every writer has seen. A name that is retired in the sight of this
-- transaction gets its number as barrier; one that inserted a row without seeing the retirement has a lower one. (The snapshot's xmax would not
-- do: it is behind the last transaction that ended, and one that runs may have a higher number.) Once all up to the barrier have ended, a new
-- statement looks once more: what content names by now is left and may be used again.
create or replace function reaper.finish_untracked(p_limit integer default 1000)
    returns table (queued integer, in_use integer, waiting integer)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_now       timestamptz := reaper.clock();
    v_ready     record;
    v_backends  text[];
    v_used      text[];
begin
    perform reaper_internal.require_read_committed();
    perform reaper_internal.require_limit(p_limit);
    queued := 0; in_use := 0; waiting := 0;
    if not exists (select from reaper.sightings s where s.retired_at is not null) then
        return next;
        return;
    end if;
    perform reaper_internal.commit_durably();
    update reaper.sightings s set barrier = pg_current_xact_id() where s.retired_at is not null and s.barrier is null;
    v_backends := array(select distinct s.backend from reaper.sightings s where s.retired_at is not null);
    select coalesce(array_agg(r.backend), '{}') as backends, coalesce(array_agg(r.object_key), '{}') as keys
      into v_ready
      from (select s.backend, s.object_key
              from reaper.sightings s
             where s.retired_at is not null and s.barrier < pg_snapshot_xmin(pg_current_snapshot())
             order by s.object_key, s.backend
             limit p_limit
               for update skip locked) as r;

    v_used := array(select b.name || '/' || o.object_key
                      from unnest(v_backends) as b (name)
                     cross join lateral reaper.known_objects(b.name, v_ready.keys) as o);
    with gone as (
        delete from reaper.sightings s
         using unnest(v_ready.backends, v_ready.keys) as r (backend, object_key)
         where s.backend = r.backend and s.object_key = r.object_key
        returning s.backend, s.object_key, s.size_bytes
    ), entered as (
        insert into reaper.cleanup_queue (backend, object_key, size_bytes, queued_at, next_attempt)
        select g.backend, g.object_key, g.size_bytes, v_now, v_now
          from gone g
         where g.backend || '/' || g.object_key <> all (v_used)
         order by g.object_key
            on conflict (backend, object_key) do nothing
        returning cleanup_queue.backend, cleanup_queue.size_bytes
    ), booked as (
        insert into reaper.byte_deltas (backend, orphan_bytes)
        select e.backend, sum(e.size_bytes) from entered e group by e.backend having sum(e.size_bytes) <> 0
    )
    select (select count(*) from entered), (select count(*) from gone) into queued, in_use;
    in_use := in_use - queued;
    perform reaper_internal.free_names(v_ready.keys);
    waiting := (select count(*) from reaper.sightings s where s.retired_at is not null);
    return next;
end;
$$;
comment on function reaper.finish_untracked(integer) is
    'Queues objects for deletion whose names retire_untracked() has retired, once no transaction is open that began before. Returns how many it queued, how many content names by now (their names may be used again), and how many still wait. RP006 outside read committed.';
revoke all on function reaper.finish_untracked(integer) from public;
grant execute on function reaper.finish_untracked(integer) to reaper_worker, reaper_ops;
