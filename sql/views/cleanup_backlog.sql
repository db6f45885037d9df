-- cleanup_backlog: the cleanup queue at a glance. Reads all of it, so it is for people and not for a dashboard that asks each second.
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
comment on view reaper.cleanup_backlog is 'Objects whose deletion is tried again, by backend and last error; reads the whole queue.';
comment on column reaper.cleanup_backlog.backend is 'Where the objects lie.';
comment on column reaper.cleanup_backlog.cause is 'The kind of their last error; null = not tried yet, other = not said.';
comment on column reaper.cleanup_backlog.objects is 'How many.';
comment on column reaper.cleanup_backlog.bytes is 'Their bytes, as far as sizes are known; part of the backend''s orphan_bytes.';
comment on column reaper.cleanup_backlog.due is 'How many are due now; behind a circuit that is not closed they wait until it is.';
comment on column reaper.cleanup_backlog.most_attempts is 'The most refusals that one of them has had; the tenth makes it a dead letter.';
comment on column reaper.cleanup_backlog.most_outages is 'How often one of them, at most, found its backend away; costs no attempt.';
comment on column reaper.cleanup_backlog.oldest is 'Since when the oldest is owed.';
comment on column reaper.cleanup_backlog.next_attempt is 'When the first of them is tried next, or the lease of who tries it now runs out.';
comment on column reaper.cleanup_backlog.circuit is 'The backend''s circuit: closed, open or half_open.';
revoke all on reaper.cleanup_backlog from public;
grant select on reaper.cleanup_backlog to reaper_worker, reaper_ops, reaper_ro;
