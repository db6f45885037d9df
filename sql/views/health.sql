-- health: one row that says how things stand. Cheap: the backlog is counted to 100,000 at most.
create or replace view reaper.health as
    select case when d.oldest < t.now - interval '26 hours' then 'behind' else 'ok' end as verdict,
           d.due as due_rows,
           d.oldest as oldest_due,
           (select count(*) from reaper.batches b where b.state = 'CLAIMED') as batches_claimed,
           (select count(*) from reaper.batches b where b.state = 'RELEASED') as batches_released,
           (select count(*) from reaper.batches b where reaper.stuck_reason(b.worker, b.held_since, t.now) is not null) as batches_stuck,
           (select count(*) from reaper.workers w where not reaper.is_silent(w.worker, t.now)) as workers_alive,
           (select count(*) from reaper.blocked) as rows_blocked,
           (select count(*) from reaper.cleanup_queue) as objects_queued,
           (select count(*) from reaper.cleanup_dlq) as objects_dead,
           (select count(*) from reaper.invalidations) as invalidations_queued,
           (select count(*) from reaper.drift f where f.noticed_at > t.now - interval '1 day') as drift_last_day,
           (select case when s.is_called then s.last_value else 0 end from reaper.refusals s) as refusals,
           (select max(r.finished_at) from (select r.finished_at from reaper.runs r order by r.run_id desc limit 1) as r) as last_finished
      from (select reaper.clock() as now) as t
     cross join lateral (select count(*) as due, min(p.expires_at) as oldest
                           from (select p.expires_at
                                   from public.pastes p
                                  where p.expires_at <= t.now
                                  order by p.expires_at
                                  limit 100000) as p) as d;
comment on view reaper.health is 'One row: how things stand. verdict is ok, or behind when a due row is over 26 hours old (a night and two hours).';
comment on column reaper.health.verdict is 'ok or behind.';
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
revoke all on reaper.health from public;
grant select on reaper.health to reaper_ops, reaper_ro;
