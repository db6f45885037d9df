-- fleet: every worker process that sent a heartbeat in the last hour, or still holds a batch.
create or replace view reaper.fleet as
    select w.worker,
           not reaper.is_silent(w.worker, reaper.clock()) as alive,
           w.started_at,
           w.beat_at,
           (select count(*) from reaper.batches b where b.worker = w.worker) as batches,
           w.throttled,
           w.degraded
      from reaper.workers w
     where w.beat_at > reaper.clock() - interval '1 hour'
        or exists (select from reaper.batches b where b.worker = w.worker)
     order by w.started_at, w.worker;
comment on view reaper.fleet is 'Worker processes of the last hour and how many batches each holds; the watchdog takes the batches of silent workers.';
comment on column reaper.fleet.worker is 'Name of the worker: host:pid:random.';
comment on column reaper.fleet.alive is 'Whether the last heartbeat is younger than settings.worker_silence.';
comment on column reaper.fleet.started_at is 'When the worker sent its first heartbeat.';
comment on column reaper.fleet.beat_at is 'When the worker sent its last heartbeat.';
comment on column reaper.fleet.batches is 'Number of batches that the worker holds.';
comment on column reaper.fleet.throttled is 'Why the worker is waiting before its next batch; null = it is not.';
comment on column reaper.fleet.degraded is 'Services that do not answer this worker, such as redis, and why; null = all do, or none is configured.';
revoke all on reaper.fleet from public;
grant select on reaper.fleet to reaper_worker, reaper_ops, reaper_ro;
