-- stalled_reasons: does the system stand still? No worker is alive while services are due for longer than settings.worker_silence (a
-- restart takes less), or no batch has moved for ten minutes although a run of the drain is due or under way, rows are late and no worker
-- is alive, or batches are stuck.
create or replace function reaper.stalled_reasons(p_now timestamptz, p_oldest_waiting timestamptz)
    returns text[]
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    with facts as materialized (
        select a.workers, g.worker_silence, i.since as idle_since,
               case when i.since = '-infinity' then 'no batch ever finished'
                    else format('no batch finished for %s', reaper_internal.in_words(p_now - i.since)) end as words
          from reaper_internal.workers_alive(p_now) as a
         cross join reaper.settings g
         cross join reaper_internal.idle_since(p_now) as i (since)
    ), due as materialized (
        select count(*) as services, min(d.since) as since, (array_agg(d.name order by d.since, d.name))[1] as first
          from facts f
         cross join reaper_internal.due_services(p_now) as d
         where f.workers = 0 and d.since < p_now - f.worker_silence
    )
    select array(
        select format('no worker is alive, and %s due, the first (%s) for %s. Start one (reaper worker); its log says why the last one ended',
                      case when d.services = 1 then '1 service is' else reaper_internal.counted(d.services, 'service') || ' are' end,
                      d.first, reaper_internal.in_words(p_now - d.since))
          from due d
         where d.services > 0
        union all
        select format('rows are late, no worker is alive, and %s. Start a worker (reaper worker), or run reaper drain', f.words)
          from facts f
         cross join due u
         cross join reaper_internal.drain_limits(p_now) as d
         where u.services = 0 and f.workers = 0 and f.idle_since is not null and p_oldest_waiting <= d.late_before
        union all
        select format('the drain stands still: a run is due since %s, and %s. %s', reaper_internal.moment(d.pending_before), f.words,
                      coalesce((select format('Worker %s waits: %s', w.worker, w.throttled)
                                  from reaper.workers w
                                 where w.throttled is not null and w.beat_at >= p_now - f.worker_silence order by w.worker limit 1),
                               'See reaper service list, reaper jobs list and the logs of the workers'))
          from facts f
         cross join reaper_internal.drain_limits(p_now) as d
         where f.workers > 0 and f.idle_since is not null and p_oldest_waiting <= d.pending_before
        union all
        select format('%s stuck, the oldest for %s, and %s. See reaper.stuck; reaper watchdog --once takes them back and finishes them',
                      case when count(*) = 1 then '1 batch is' else reaper_internal.counted(count(*), 'batch', 'batches') || ' are' end,
                      reaper_internal.in_words(p_now - min(b.held_since)), f.words)
          from facts f
         cross join reaper.batches b
         where f.idle_since is not null
           and b.held_since < p_now - interval '10 minutes' and reaper.stuck_reason(b.worker, b.held_since, p_now) is not null
         group by f.words);
$$;
comment on function reaper.stalled_reasons(timestamptz, timestamptz) is
    'Why the system stands still, in sentences, for the view reaper.health; empty if it does not. p_oldest_waiting is that of due_summary().';
revoke all on function reaper.stalled_reasons(timestamptz, timestamptz) from public;
grant execute on function reaper.stalled_reasons(timestamptz, timestamptz) to reaper_worker, reaper_ops, reaper_ro;
