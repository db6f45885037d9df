-- dlq: objects whose deletion failed permanently.
create or replace view reaper.dlq as
    select d.queue_id, d.backend, d.object_key, d.size_bytes, d.attempts, d.last_error, d.queued_at, d.buried_at,
           d.cause,
           d.content_hash,
           exists (select from reaper.retired_keys k where k.object_key = d.object_key) as name_retired
      from reaper.cleanup_dlq d
     order by d.buried_at, d.queue_id;
comment on view reaper.dlq is
    'DLQ: objects whose deletion failed permanently and needs an operator''s decision; their bytes are still stored. count_dlq() counts, retry_dlq() and write_off_dlq() settle them.';
comment on column reaper.dlq.queue_id is 'Number of the entry, for retry_dlq() and write_off_dlq().';
comment on column reaper.dlq.backend is 'Backend that stores the object.';
comment on column reaper.dlq.object_key is 'Key of the object.';
comment on column reaper.dlq.size_bytes is 'Size of the object in bytes; null = unknown.';
comment on column reaper.dlq.attempts is 'Number of failed attempts.';
comment on column reaper.dlq.last_error is 'Error of the last attempt.';
comment on column reaper.dlq.queued_at is 'When the object was first queued for deletion.';
comment on column reaper.dlq.buried_at is 'When the entry was moved to the DLQ.';
comment on column reaper.dlq.cause is 'Error code: AccessDenied, ObjectLocked, …; other = the error has no code.';
comment on column reaper.dlq.content_hash is 'Hash of the deleted content.';
comment on column reaper.dlq.name_retired is 'Whether new content must not use this object key (RP004) until the entry is settled.';
revoke all on reaper.dlq from public;
grant select on reaper.dlq to reaper_worker, reaper_ops, reaper_ro;
