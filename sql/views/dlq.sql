-- dlq: objects whose deletion failed for good.
create or replace view reaper.dlq as
    select d.queue_id, d.backend, d.object_key, d.size_bytes, d.attempts, d.last_error, d.queued_at, d.buried_at
      from reaper.cleanup_dlq d
     order by d.buried_at, d.queue_id;
comment on view reaper.dlq is 'Objects that could not be deleted and wait for an operator; their bytes are still stored.';
comment on column reaper.dlq.queue_id is 'The number by which it is retried or dropped.';
comment on column reaper.dlq.backend is 'Where the object lies.';
comment on column reaper.dlq.object_key is 'Its name.';
comment on column reaper.dlq.size_bytes is 'Bytes that are still stored.';
comment on column reaper.dlq.attempts is 'Refusals so far.';
comment on column reaper.dlq.last_error is 'Why it was given up.';
comment on column reaper.dlq.queued_at is 'When its deletion was first owed.';
comment on column reaper.dlq.buried_at is 'When it was given up.';
revoke all on reaper.dlq from public;
grant select on reaper.dlq to reaper_worker, reaper_ops, reaper_ro;
