-- health: one row with the verdict and the figures behind it. Cheap: figures are counted up to 100,000; see due_summary.
-- The first list of reasons that is not empty decides: stalled before behind before attention before paused. What a pause explains (rows
-- that wait, runs that were missed) is in none of the others, so a pause hides no other trouble, and no trouble hides that it is paused.
create or replace view reaper.health as
    with now as materialized (
        select reaper.clock() as at
    ), due as materialized (
        select d.due_rows as rows, d.oldest_due as oldest, d.oldest_waiting as waiting
          from now n
         cross join lateral reaper.due_summary(n.at) as d
    ), held as (
        select count(*) filter (where b.state = 'CLAIMED') as claimed,
               count(*) filter (where b.state = 'RELEASED') as released,
               count(*) filter (where s.reason is not null) as stuck,
               min(b.held_since) filter (where s.reason is not null) as stuck_since
          from reaper.batches b
         cross join now n
         cross join lateral reaper.stuck_reason(b.worker, b.held_since, n.at) as s (reason)
    ), finished as (
        select max(r.finished_at) as last from (select r.finished_at from reaper.runs r order by r.run_id desc limit 1) as r
    ), judged as materialized (
        select reaper.stalled_reasons(n.at, d.waiting) as stalled,
               reaper.behind_reasons(n.at, d.waiting) as behind,
               reaper.attention_reasons() as attention,
               reaper.pause_reasons(n.at, d.rows, d.oldest) as paused
          from now n, due d
    )
    select case when j.stalled <> '{}' then 'stalled' when j.behind <> '{}' then 'behind' when j.attention <> '{}' then 'attention'
                when j.paused <> '{}' then 'paused' else 'ok' end as verdict,
           d.rows as due_rows,
           d.oldest as oldest_due,
           h.claimed as batches_claimed,
           h.released as batches_released,
           h.stuck as batches_stuck,
           (select count(*) from reaper.workers w where w.takes_jobs and not reaper.is_silent(w.worker, n.at)) as workers_alive,
           (select count(*) from (select from reaper.blocked limit 100000) as l) as rows_blocked,
           (select count(*) from (select from reaper.cleanup_queue limit 100000) as l) as objects_queued,
           (select count(*) from (select from reaper.cleanup_dlq limit 100000) as l) as objects_dead,
           (select count(*) from (select from reaper.invalidations limit 100000) as l) as invalidations_queued,
           (select count(*) from (select f.noticed_at from reaper.drift f order by f.drift_id desc limit 100000) as l
             where l.noticed_at > n.at - interval '1 day') as drift_last_day,
           (select case when s.is_called then s.last_value else 0 end from reaper.refusals s) as refusals,
           f.last as last_finished,
           j.stalled || j.behind || j.attention || j.paused as reasons,
           h.stuck_since,
           n.at as judged_at
      from now n, due d, held h, finished f, judged j;
comment on view reaper.health is
    'One row: the verdict and its figures; figures stop at 100000. The worst verdict counts: '
    'stalled: no worker is alive while services are due for over settings.worker_silence, or no batch moved for 10 minutes while a run of the drain is due or batches are stuck. '
    'behind: rows that were due at a scheduled start of the drain are still there two hours after it (26 hours after their expiry where it was never planned). '
    'attention: objects in the DLQ, open circuits, Redis away, services that fail three times in a row, do not start or cannot be planned, jobs without a worker, blocked rows, stuck batches, a broken binding, a foreign bucket, a server without free connections, advisory locks of services held by other logins, a moved clock. '
    'paused: a service is paused, or the drain is switched off; what waits for it then is neither late nor overdue. Else ok.';
comment on column reaper.health.verdict is 'ok, paused, attention, behind or stalled. Exit codes of reaper status: 0 for ok and paused, 1 for attention and behind, 3 for stalled.';
comment on column reaper.health.due_rows is 'Number of due pastes not deleted yet, claimed or not; 100000 means at least that many.';
comment on column reaper.health.oldest_due is 'When the oldest due paste expired.';
comment on column reaper.health.batches_claimed is 'Number of batches whose rows are marked DELETION_IN_PROGRESS.';
comment on column reaper.health.batches_released is 'Number of batches whose objects and cache entries are still to be deleted.';
comment on column reaper.health.batches_stuck is 'Number of batches in reaper.stuck.';
comment on column reaper.health.workers_alive is 'Number of workers that take jobs and whose last heartbeat is younger than settings.worker_silence.';
comment on column reaper.health.rows_blocked is 'Number of rows in reaper.blocked_rows; 100000 means at least that many.';
comment on column reaper.health.objects_queued is 'Number of objects in the cleanup queue; 100000 means at least that many.';
comment on column reaper.health.objects_dead is 'Number of entries in reaper.dlq; 100000 means at least that many.';
comment on column reaper.health.invalidations_queued is 'Number of cache entries queued for deletion; 100000 means at least that many.';
comment on column reaper.health.drift_last_day is 'Number of wrong ref_counts found in the last 24 hours; see reaper.drift.';
comment on column reaper.health.refusals is 'Number of calls refused because the batch or lease was no longer held (RP001).';
comment on column reaper.health.last_finished is 'When the last batch finished.';
comment on column reaper.health.reasons is 'Sentences that say why the verdict is not ok, the worst first, each with the remedy; empty if it is ok.';
comment on column reaper.health.stuck_since is 'Since when the oldest stuck batch has been held.';
comment on column reaper.health.judged_at is 'Time of this row.';
revoke all on reaper.health from public;
grant select on reaper.health to reaper_worker, reaper_ops, reaper_ro;
