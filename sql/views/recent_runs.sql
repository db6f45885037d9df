-- recent_runs: the last 100 batches, newest first.
create or replace view reaper.recent_runs as
    select r.finished_at,
           r.worker,
           r.rows_deleted,
           r.rows_returned,
           r.rows_blocked,
           r.objects_deleted,
           r.objects_failed,
           r.bytes_freed,
           r.invalidations_failed,
           r.finished_at - r.claimed_at as took,
           r.batch_id
      from reaper.runs r
     order by r.run_id desc
     limit 100;
comment on view reaper.recent_runs is 'The last 100 finished batches, newest first.';
comment on column reaper.recent_runs.finished_at is 'When it was settled.';
comment on column reaper.recent_runs.worker is 'Who settled it.';
comment on column reaper.recent_runs.rows_deleted is 'Rows that are gone.';
comment on column reaper.recent_runs.rows_returned is 'Rows that were given back alive.';
comment on column reaper.recent_runs.rows_blocked is 'Rows that PostgreSQL refused to delete.';
comment on column reaper.recent_runs.objects_deleted is 'Objects that are confirmed gone.';
comment on column reaper.recent_runs.objects_failed is 'Objects that went to a queue.';
comment on column reaper.recent_runs.bytes_freed is 'Bytes of the objects that are gone.';
comment on column reaper.recent_runs.invalidations_failed is 'Cache entries that went to a queue.';
comment on column reaper.recent_runs.took is 'From the claim to the end.';
comment on column reaper.recent_runs.batch_id is 'The token that the batch had last.';
revoke all on reaper.recent_runs from public;
grant select on reaper.recent_runs to reaper_worker, reaper_ops, reaper_ro;
