-- recent_runs: the last 100 finished batches, newest first.
create or replace view reaper.recent_runs as
    select r.finished_at,
           r.worker,
           r.rows_deleted,
           r.rows_returned,
           r.rows_blocked,
           r.objects_deleted,
           r.objects_failed,
           r.dead_letters,
           r.bytes_freed,
           r.objects_unsized,
           r.invalidations_failed,
           r.finished_at - r.claimed_at as took,
           r.batch_id
      from reaper.runs r
     order by r.run_id desc
     limit 100;
comment on view reaper.recent_runs is 'The last 100 finished batches, newest first.';
comment on column reaper.recent_runs.finished_at is 'When the batch finished.';
comment on column reaper.recent_runs.worker is 'Worker that finished the batch.';
comment on column reaper.recent_runs.rows_deleted is 'Paste rows deleted.';
comment on column reaper.recent_runs.rows_returned is 'Claimed rows that were not deleted: extended, or locked by another transaction.';
comment on column reaper.recent_runs.rows_blocked is 'Rows that PostgreSQL refused to delete.';
comment on column reaper.recent_runs.objects_deleted is 'Objects deleted, as confirmed by the backend.';
comment on column reaper.recent_runs.objects_failed is 'Objects moved to cleanup_queue or cleanup_dlq.';
comment on column reaper.recent_runs.dead_letters is 'Objects moved to cleanup_dlq.';
comment on column reaper.recent_runs.objects_unsized is 'Deleted objects whose size is unknown; bytes_freed is without them.';
comment on column reaper.recent_runs.bytes_freed is 'Bytes of the deleted objects whose size is known.';
comment on column reaper.recent_runs.invalidations_failed is 'Cache entries moved to invalidations.';
comment on column reaper.recent_runs.took is 'Time from the claim to the end.';
comment on column reaper.recent_runs.batch_id is 'Last uuid of the batch.';
revoke all on reaper.recent_runs from public;
grant select on reaper.recent_runs to reaper_worker, reaper_ops, reaper_ro;
