-- dlq: objects whose deletion failed for good.
create or replace view reaper.dlq as
    select d.queue_id, d.backend, d.object_key, d.size_bytes, d.attempts, d.last_error, d.queued_at, d.buried_at,
           d.cause,
           d.content_hash,
           exists (select from reaper.retired_keys k where k.object_key = d.object_key) as name_retired
      from reaper.cleanup_dlq d
     order by d.buried_at, d.queue_id;
comment on view reaper.dlq is 'Objects that could not be deleted and wait for an operator; their bytes are still stored. count_dlq() sums them up, retry_dlq() and write_off_dlq() settle them.';
comment on column reaper.dlq.queue_id is 'The number by which it is retried or dropped.';
comment on column reaper.dlq.backend is 'Where the object lies.';
comment on column reaper.dlq.object_key is 'Its name.';
comment on column reaper.dlq.size_bytes is 'Bytes that are still stored.';
comment on column reaper.dlq.attempts is 'Refusals so far.';
comment on column reaper.dlq.last_error is 'Why it was given up.';
comment on column reaper.dlq.queued_at is 'When its deletion was first owed.';
comment on column reaper.dlq.buried_at is 'When it was given up.';
comment on column reaper.dlq.cause is 'The kind of error: AccessDenied, ObjectLocked, …; other = not said.';
comment on column reaper.dlq.content_hash is 'What it held.';
comment on column reaper.dlq.name_retired is 'Whether its name may not be used again (RP004) until this is settled.';
revoke all on reaper.dlq from public;
grant select on reaper.dlq to reaper_worker, reaper_ops, reaper_ro;
