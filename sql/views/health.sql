-- health: one row that says how things stand, and whether that is as promised. Cheap: the backlog is counted to 100,000 at
-- most, and the oldest row that somebody ought to have taken is found at the head of the index.
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
               -- A holder without any heartbeat may be a person at psql: believed for ten minutes.
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
               case when j.behind then format('a paste that expired %s hours ago is still waiting; 26 are allowed',
                                              floor(extract(epoch from n.at - greatest(o.since, n.at - interval '100 years')) / 3600)) end,
               case when j.idle and j.stuck then format('%s batches make no progress, the oldest for %s minutes',
                                                        h.stuck, floor(extract(epoch from n.at - h.stuck_since) / 60)) end,
               case when j.idle and (j.behind or j.stuck) then
                   coalesce('no batch was finished for ' || floor(extract(epoch from n.at - f.last) / 60) || ' minutes',
                            'no batch was ever finished') || ', and no living worker holds one' end], null) as reasons,
           h.stuck_since,
           n.at as judged_at
      from now n, due d, overdue o, held h, finished f, judged j;
comment on view reaper.health is
    'One row: how things stand. verdict is behind when a paste that nobody has claimed and that is not blocked expired over 26 hours ago '
    '(a night and two hours); stalled when somebody would have to act on that, or on a batch that is stuck for over 10 minutes, and nobody does: '
    'no batch was finished for 10 minutes and no living worker holds one; else ok.';
comment on column reaper.health.verdict is 'ok, behind or stalled.';
comment on column reaper.health.due_rows is 'Due rows that are still there, claimed or not; 100000 means at least that many.';
comment on column reaper.health.oldest_due is 'When the oldest of them expired.';
comment on column reaper.health.batches_claimed is 'Batches whose rows are marked.';
comment on column reaper.health.batches_released is 'Batches whose side effects are owed.';
comment on column reaper.health.batches_stuck is 'See reaper.stuck.';
comment on column reaper.health.workers_alive is 'Workers with a fresh heartbeat.';
comment on column reaper.health.rows_blocked is 'See reaper.blocked_rows.';
comment on column reaper.health.objects_queued is 'Objects whose deletion is retried.';
comment on column reaper.health.objects_dead is 'See reaper.dlq.';
comment on column reaper.health.invalidations_queued is 'Cache entries whose deletion is retried.';
comment on column reaper.health.drift_last_day is 'Wrong ref_counts noticed in the last 24 hours; see reaper.drift.';
comment on column reaper.health.refusals is 'How often a worker came too late with a batch it no longer held (RP001).';
comment on column reaper.health.last_finished is 'When the last batch was settled.';
comment on column reaper.health.reasons is 'Why the verdict is not ok; empty when it is.';
comment on column reaper.health.stuck_since is 'Since when the oldest of the stuck batches is held.';
comment on column reaper.health.judged_at is 'The time by which all this was judged.';
revoke all on reaper.health from public;
grant select on reaper.health to reaper_worker, reaper_ops, reaper_ro;
