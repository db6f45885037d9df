-- backlog: due pastes by the hour in which they expired.
create or replace view reaper.backlog as
    select d.expired_in, d.waiting, d.in_progress from reaper.due_by_hour() as d;
comment on view reaper.backlog is 'Pastes that are due and not deleted yet, by the hour in which they expired.';
comment on column reaper.backlog.expired_in is 'Hour in which the pastes expired.';
comment on column reaper.backlog.waiting is 'Number of pastes not claimed yet.';
comment on column reaper.backlog.in_progress is 'Number of pastes claimed by a batch.';
revoke all on reaper.backlog from public;
grant select on reaper.backlog to reaper_worker, reaper_ops, reaper_ro;
