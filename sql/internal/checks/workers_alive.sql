-- workers_alive: how many processes that take jobs sent a heartbeat within settings.worker_silence, and since when the oldest of them runs.
-- A drain or a watchdog by hand starts no service.
create or replace function reaper_internal.workers_alive(p_now timestamptz)
    returns table (workers bigint, since timestamptz)
    language sql stable
as $$
    select count(*), min(w.started_at)
      from reaper.workers w
     cross join reaper.settings s
     where w.takes_jobs and w.beat_at >= p_now - s.worker_silence;
$$;
comment on function reaper_internal.workers_alive(timestamptz) is
    'Number of processes that take jobs and whose last heartbeat is younger than settings.worker_silence, and when the first of them started.';
revoke all on function reaper_internal.workers_alive(timestamptz) from public;
