-- drain_limits: what the drain's own schedule demands. late_before: rows that expired before this time were due at a start that is two
-- hours ago, and should be gone. pending_before: the same for ten minutes, while a run is due, has begun and not ended, or waits:
-- a run that waits ends after seconds and begins again, so the worker's wait is looked at.
-- A pause moves the time from which a start counts to its own end, but not the rows that were due at that start.
-- Where no start was ever planned, because no worker has run yet, rows are late 26 hours after their expiry: a night and two hours.
-- No row while the drain is paused or switched off: what waits then is meant to.
create or replace function reaper_internal.drain_limits(p_now timestamptz)
    returns table (late_before timestamptz, pending_before timestamptz)
    language sql stable
as $$
    with drain as (
        select s.paused_until,
               s.recent_starts || case when s.next_run_at <= p_now then reaper_internal.start_of_run(s.next_run_at, s.paused_until) end as starts,
               s.next_run_at is null and s.recent_starts = '{}' as unplanned,
               coalesce(d.since <= p_now - interval '10 minutes', false)
               or (s.last_started_at <= p_now - interval '10 minutes'
                   and s.last_started_at > coalesce(s.last_finished_at, '-infinity'))
               or exists (select from reaper.workers w cross join reaper.settings g
                           where w.throttled_since <= p_now - interval '10 minutes' and w.beat_at >= p_now - g.worker_silence) as pending
          from reaper.services s
          left join reaper_internal.due_services(p_now) as d on d.name = s.name
         where s.name = 'drain' and s.enabled and coalesce(s.paused_until <= p_now, true)
        union all
        select null, '{}', true, false
         where not exists (select from reaper.services s where s.name = 'drain')
    )
    select case when d.unplanned then p_now - interval '26 hours'
                else (select max(k.start) from unnest(d.starts) as k (start) where greatest(k.start, d.paused_until) <= p_now - interval '2 hours') end,
           case when d.pending then (select max(k.start) from unnest(d.starts) as k (start) where greatest(k.start, d.paused_until) <= p_now - interval '10 minutes') end
      from drain d;
$$;
comment on function reaper_internal.drain_limits(timestamptz) is
    'Expiry before which rows are late by the drain''s own schedule, and before which rows wait for a run that is due or has begun; null = none. No row if the drain is paused or off.';
revoke all on function reaper_internal.drain_limits(timestamptz) from public;
