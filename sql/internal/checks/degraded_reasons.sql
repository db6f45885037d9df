-- degraded_reasons: what does not answer the workers that live, as their heartbeats say: redis, the claim lock, a standby.
create or replace function reaper_internal.degraded_reasons(p_now timestamptz)
    returns setof text
    language sql stable
as $$
    select format('%s does not answer %s: %s. Work continues without it%s. Check that it runs, and %s',
                  case d.service when 'redis' then 'Redis' else d.service end,
                  case when count(*) = 1 then 'worker ' || min(w.worker) else format('%s (%s and others)', reaper_internal.counted(count(*), 'worker'), min(w.worker)) end,
                  left(min(d.error), 200),
                  case d.service when 'redis' then ', cache entries to be dropped wait in reaper.invalidations'
                                 when 'standby' then ', objects wait in the queue' else '' end,
                  case d.service when 'standby' then 'reaper.settings.wait_for_standby' else 'REAPER_REDIS_URL of the workers; reaper doctor tries it' end)
      from reaper.workers w
     cross join reaper.settings s
     cross join lateral jsonb_each_text(w.degraded) as d (service, error)
     where w.beat_at >= p_now - s.worker_silence
     group by d.service
     order by d.service;
$$;
comment on function reaper_internal.degraded_reasons(timestamptz) is
    'For attention_reasons: Redis, or another service that does not answer the workers.';
revoke all on function reaper_internal.degraded_reasons(timestamptz) from public;
