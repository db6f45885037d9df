-- backlog: what is due, by the hour of its expiry.
create or replace view reaper.backlog as
    select date_trunc('hour', p.expires_at) as expired_in,
           count(*) filter (where p.deletion_status = 'NOT_EXPIRED') as waiting,
           count(*) filter (where p.deletion_status = 'DELETION_IN_PROGRESS') as in_progress
      from public.pastes p
     where p.expires_at <= reaper.clock()
     group by date_trunc('hour', p.expires_at);
comment on view reaper.backlog is 'Pastes that are due and still there, by the hour in which they expired.';
comment on column reaper.backlog.expired_in is 'The hour.';
comment on column reaper.backlog.waiting is 'Not claimed yet.';
comment on column reaper.backlog.in_progress is 'Claimed by a batch.';
revoke all on reaper.backlog from public;
grant select on reaper.backlog to reaper_worker, reaper_ops, reaper_ro;
