-- wedged_job_reasons: jobs that run on no living worker for over five minutes, in which the rescue should have freed them, and jobs that no
-- worker takes although one lives. Looked up by status and queueing lock, so that a full queue of other tasks costs nothing. Jobs know
-- the real time only.
create or replace function reaper_internal.wedged_job_reasons(p_now timestamptz)
    returns setof text
    language sql stable
as $$
    select format('%s on no living worker (%s). Run: reaper jobs rescue',
                  case when count(*) = 1 then '1 job runs' else reaper_internal.counted(count(*), 'job') || ' run' end,
                  string_agg(format('%s, job %s', coalesce(d.queueing_lock, d.task_name), d.id), '; ' order by d.id))
      from (select j.id, j.queueing_lock, j.task_name
              from procrastinate.procrastinate_jobs j
              left join procrastinate.procrastinate_workers w on w.id = j.worker_id
             where j.status = 'doing' and starts_with(j.task_name, 'reaper:')
               and coalesce(w.last_heartbeat < clock_timestamp() - interval '2 minutes', true)
               and not exists (select from procrastinate.procrastinate_events e
                                where e.job_id = j.id and e.at > clock_timestamp() - interval '5 minutes')
             limit 10) as d
    having count(*) > 0
    union all
    select format('%s for over 10 minutes, and no worker takes %s (%s). Do the workers take jobs from the queue reaper (--queues), and have they room (--concurrency)? '
                  'See reaper jobs list',
                  case when count(*) = 1 then '1 job waits' else reaper_internal.counted(count(*), 'job') || ' wait' end,
                  case when count(*) = 1 then 'it' else 'them' end,
                  string_agg(format('%s, job %s', t.queueing_lock, t.id), '; ' order by t.id))
      from (select j.id, j.queueing_lock
              from (select case when s.name like 'policy:%' then s.name else 'service:' || s.name end
                      from reaper.services s
                     where s.enabled and coalesce(s.paused_until <= p_now, true)
                    union all
                    select 'drain:' || i from generate_series(0, 63) as i
                    union all
                    select 'tick') as l (lock)
             cross join lateral (select o.id, o.queueing_lock, o.task_name, o.scheduled_at
                                   from procrastinate.procrastinate_jobs o
                                  where o.status = 'todo' and o.queueing_lock = l.lock collate "default"  -- that of the index
                                  limit 1) as j
             where starts_with(j.task_name, 'reaper:')
               and coalesce(j.scheduled_at < clock_timestamp() - interval '10 minutes', true)
               and not exists (select from procrastinate.procrastinate_events e
                                where e.job_id = j.id and e.at > clock_timestamp() - interval '10 minutes')
             limit 10) as t
     where exists (select from reaper_internal.workers_alive(p_now) as w where w.workers > 0)
    having count(*) > 0;
$$;
comment on function reaper_internal.wedged_job_reasons(timestamptz) is
    'For attention_reasons: jobs that run on no living worker, or that no worker takes.';
revoke all on function reaper_internal.wedged_job_reasons(timestamptz) from public;
