-- fleet: every worker process that has a heartbeat, or had one in the last day.
create or replace view reaper.fleet as
    select w.worker,
           not reaper.is_silent(w.worker, reaper.clock()) as alive,
           w.started_at,
           w.beat_at,
           (select count(*) from reaper.batches b where b.worker = w.worker) as batches,
           w.throttled
      from reaper.workers w
     order by w.started_at, w.worker;
comment on view reaper.fleet is 'Worker processes and how many batches each holds; those that are silent lose their batches to the watchdog.';
comment on column reaper.fleet.worker is 'host:pid:random.';
comment on column reaper.fleet.alive is 'Whether its last heartbeat is younger than settings.worker_silence.';
comment on column reaper.fleet.started_at is 'The first heartbeat.';
comment on column reaper.fleet.beat_at is 'The last one.';
comment on column reaper.fleet.batches is 'How many batches it holds.';
comment on column reaper.fleet.throttled is 'Why it waits before its next batch; null = it does not.';
revoke all on reaper.fleet from public;
grant select on reaper.fleet to reaper_worker, reaper_ops, reaper_ro;
