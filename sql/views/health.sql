-- health: one row with the verdict and the figures behind it. Cheap: the backlog is counted up to 100,000, and the oldest row that is
-- not claimed is found at the start of the index.
create or replace view reaper.health as
    with now as (
        select reaper.clock() as at
    ), due as (
        select count(*) as rows, min(d.expires_at) as oldest
          from (select p.expires_at
                  from public.pastes p
                 where p.expires_at <= (select n.at from now n)
                 order by p.expires_at
                 limit 100000) as d
    ), overdue as (
        select min(o.expires_at) as since
          from (select p.expires_at
                  from public.pastes p
                 where p.expires_at < (select n.at - interval '26 hours' from now n)
                   and p.deletion_status = 'NOT_EXPIRED'
                   and p.short_code <> all (array(select b.short_code from reaper.blocked b cross join now n where b.next_attempt > n.at))
                 order by p.expires_at
                 limit 1) as o
    ), held as (
        select count(*) filter (where b.state = 'CLAIMED') as claimed,
               count(*) filter (where b.state = 'RELEASED') as released,
               count(*) filter (where s.reason is not null) as stuck,
               min(b.held_since) filter (where s.reason is not null) as stuck_since,
               -- A holder without any heartbeat may be a person at psql: counted as active for ten minutes.
               coalesce(bool_or(s.reason is null
                                and (b.held_since > n.at - interval '10 minutes'
                                     or exists (select from reaper.workers w where w.worker = b.worker))), false) as worked_on
          from reaper.batches b
         cross join now n
         cross join lateral reaper.stuck_reason(b.worker, b.held_since, n.at) as s (reason)
    ), finished as (
        select max(r.finished_at) as last from (select r.finished_at from reaper.runs r order by r.run_id desc limit 1) as r
    ), judged as (
        select o.since is not null as behind,
               coalesce(h.stuck_since < n.at - interval '10 minutes', false) as stuck,
               not h.worked_on and coalesce(f.last < n.at - interval '10 minutes', true) as idle
          from now n, overdue o, held h, finished f
    )
    select case when (j.behind or j.stuck) and j.idle then 'stalled' when j.behind then 'behind' else 'ok' end as verdict,
           d.rows as due_rows,
           d.oldest as oldest_due,
           h.claimed as batches_claimed,
           h.released as batches_released,
           h.stuck as batches_stuck,
           (select count(*) from reaper.workers w where not reaper.is_silent(w.worker, n.at)) as workers_alive,
           (select count(*) from reaper.blocked) as rows_blocked,
           (select count(*) from reaper.cleanup_queue) as objects_queued,
           (select count(*) from reaper.cleanup_dlq) as objects_dead,
           (select count(*) from reaper.invalidations) as invalidations_queued,
           (select count(*) from reaper.drift f where f.noticed_at > n.at - interval '1 day') as drift_last_day,
           (select case when s.is_called then s.last_value else 0 end from reaper.refusals s) as refusals,
           f.last as last_finished,
           array_remove(array[
               case when j.behind then format('drain is behind: the oldest unclaimed paste expired %s hours ago, the limit is 26',
                                              floor(extract(epoch from n.at - greatest(o.since, n.at - interval '100 years')) / 3600)) end,
               case when j.idle and j.stuck then format('%s batches are stuck, the oldest for %s minutes (see reaper.stuck)',
                                                        h.stuck, floor(extract(epoch from n.at - h.stuck_since) / 60)) end,
               case when j.idle and (j.behind or j.stuck) then
                   coalesce('no batch finished for ' || floor(extract(epoch from n.at - f.last) / 60) || ' minutes',
                            'no batch ever finished') || ', and no live worker holds one' end], null) as reasons,
           h.stuck_since,
           n.at as judged_at
      from now n, due d, overdue o, held h, finished f, judged j;
comment on view reaper.health is
    'One row: the verdict and its figures. behind: an unclaimed paste that is not blocked expired over 26 hours ago (a night and two hours). '
    'stalled: such a paste, or a batch that is stuck for over 10 minutes, and no activity: no batch finished for 10 minutes and no live worker holds one. '
    'Else ok.';
comment on column reaper.health.verdict is 'ok, behind or stalled.';
comment on column reaper.health.due_rows is 'Number of due pastes not deleted yet, claimed or not; 100000 means at least that many.';
comment on column reaper.health.oldest_due is 'When the oldest due paste expired.';
comment on column reaper.health.batches_claimed is 'Number of batches whose rows are marked DELETION_IN_PROGRESS.';
comment on column reaper.health.batches_released is 'Number of batches whose objects and cache entries are still to be deleted.';
comment on column reaper.health.batches_stuck is 'Number of batches in reaper.stuck.';
comment on column reaper.health.workers_alive is 'Number of workers whose last heartbeat is younger than settings.worker_silence.';
comment on column reaper.health.rows_blocked is 'Number of rows in reaper.blocked_rows.';
comment on column reaper.health.objects_queued is 'Number of objects in the cleanup queue.';
comment on column reaper.health.objects_dead is 'Number of entries in reaper.dlq.';
comment on column reaper.health.invalidations_queued is 'Number of cache entries queued for deletion.';
comment on column reaper.health.drift_last_day is 'Number of wrong ref_counts found in the last 24 hours; see reaper.drift.';
comment on column reaper.health.refusals is 'Number of calls refused because the batch or lease was no longer held (RP001).';
comment on column reaper.health.last_finished is 'When the last batch finished.';
comment on column reaper.health.reasons is 'Why the verdict is not ok; empty if it is.';
comment on column reaper.health.stuck_since is 'Since when the oldest stuck batch has been held.';
comment on column reaper.health.judged_at is 'Time of this row.';
revoke all on reaper.health from public;
grant select on reaper.health to reaper_worker, reaper_ops, reaper_ro;
