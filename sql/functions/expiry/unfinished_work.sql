-- unfinished_work: what a drain that found nothing more to do leaves: batches that other workers hold, and what waits in the queues.
create or replace function reaper.unfinished_work(p_worker text default null)
    returns table (rows_held bigint, objects_held bigint, batches_held bigint, held_for interval, worker_silence interval, rows_blocked bigint,
                   objects_queued bigint, objects_behind_circuits bigint, circuits_open text[], dead_letters bigint)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    with held as (
        select coalesce(sum(cardinality(b.short_codes)) filter (where b.state = 'CLAIMED'), 0) as rows,
               coalesce(sum(cardinality(b.object_keys)) filter (where b.state = 'RELEASED'), 0) as objects,
               count(*) as batches,
               min(b.held_since) as since
          from reaper.batches b
         where b.worker is not null and b.worker is distinct from p_worker
    ), queued as (
        select count(*) as objects,
               count(*) filter (where c.state <> 'closed') as behind_circuits,
               coalesce(array_agg(distinct q.backend order by q.backend) filter (where c.state <> 'closed'), '{}') as circuits
          from reaper.cleanup_queue q
          left join reaper.circuits c on c.backend = q.backend
    )
    select h.rows, h.objects, h.batches, reaper.clock() - h.since, s.worker_silence,
           (select count(*) from reaper.blocked), q.objects, q.behind_circuits, q.circuits, (select count(*) from reaper.cleanup_dlq)
      from held h, queued q, reaper.settings s;
$$;
comment on function reaper.unfinished_work(text) is
    'What is unfinished although no row is left to claim: rows and objects in batches that other workers than p_worker hold, and for how long (a worker that is silent for worker_silence loses them to the watchdog); blocked rows; objects queued for deletion, those behind circuits that are not closed, and these backends; objects in the DLQ. Reads the whole queues.';
revoke all on function reaper.unfinished_work(text) from public;
grant execute on function reaper.unfinished_work(text) to reaper_worker, reaper_ops, reaper_ro;
