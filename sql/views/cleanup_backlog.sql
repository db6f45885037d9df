-- cleanup_backlog: summary of the cleanup queue. Reads the whole queue: for people, not for a dashboard that polls every second.
create or replace view reaper.cleanup_backlog as
    with now as (
        select reaper.clock() as at
    )
    select q.backend,
           case when q.last_error is not null then reaper.error_cause(q.last_error) end as cause,
           count(*) as objects,
           least(coalesce(sum(q.size_bytes), 0), 9223372036854775807)::bigint as bytes,
           count(*) filter (where q.next_attempt <= n.at) as due,
           max(q.attempts) as most_attempts,
           max(q.outages) as most_outages,
           min(q.queued_at) as oldest,
           min(q.next_attempt) as next_attempt,
           coalesce(max(c.state), 'closed') as circuit
      from reaper.cleanup_queue q
     cross join now n
      left join reaper.circuits c on c.backend = q.backend
     group by 1, 2
     order by 1, 2;
comment on view reaper.cleanup_backlog is 'Objects queued for deletion, by backend and last error; reads the whole queue.';
comment on column reaper.cleanup_backlog.backend is 'Backend that stores the objects.';
comment on column reaper.cleanup_backlog.cause is 'Code of the last error; null = not tried yet, other = the error has no code.';
comment on column reaper.cleanup_backlog.objects is 'Number of objects.';
comment on column reaper.cleanup_backlog.bytes is 'Bytes of the objects whose size is known; part of the backend''s orphan_bytes.';
comment on column reaper.cleanup_backlog.due is 'Number of objects that are due now; if the circuit is not closed, they wait until it is.';
comment on column reaper.cleanup_backlog.most_attempts is 'Highest number of failed attempts of one object; the tenth moves it to the DLQ.';
comment on column reaper.cleanup_backlog.most_outages is 'Highest number of outages that one object met; not counted as attempts.';
comment on column reaper.cleanup_backlog.oldest is 'When the oldest object was queued.';
comment on column reaper.cleanup_backlog.next_attempt is 'When the first object is tried next, or its present lease expires.';
comment on column reaper.cleanup_backlog.circuit is 'Circuit of the backend: closed, open or half_open.';
revoke all on reaper.cleanup_backlog from public;
grant select on reaper.cleanup_backlog to reaper_worker, reaper_ops, reaper_ro;
