-- backlog: due pastes by the hour in which they expired.
create or replace view reaper.backlog as
    select date_trunc('hour', p.expires_at) as expired_in,
           count(*) filter (where p.deletion_status = 'NOT_EXPIRED') as waiting,
           count(*) filter (where p.deletion_status = 'DELETION_IN_PROGRESS') as in_progress
      from public.pastes p
     where p.expires_at <= reaper.clock()
     group by date_trunc('hour', p.expires_at);
comment on view reaper.backlog is 'Pastes that are due and not deleted yet, by the hour in which they expired.';
comment on column reaper.backlog.expired_in is 'Hour in which the pastes expired.';
comment on column reaper.backlog.waiting is 'Number of pastes not claimed yet.';
comment on column reaper.backlog.in_progress is 'Number of pastes claimed by a batch.';
revoke all on reaper.backlog from public;
grant select on reaper.backlog to reaper_worker, reaper_ops, reaper_ro;
