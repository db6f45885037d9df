-- in_flight: every batch, oldest first.
create or replace view reaper.in_flight as
    select b.batch_id,
           b.state,
           b.worker,
           reaper.clock() - b.held_since as held_for,
           cardinality(b.short_codes) as codes,
           cardinality(b.object_keys) as objects,
           (select sum(s.size_bytes) from unnest(b.object_sizes) as s (size_bytes)) as bytes,
           b.claimed_at,
           b.released_at
      from reaper.batches b
     order by b.claimed_at;
comment on view reaper.in_flight is 'Batches in flight, oldest first.';
comment on column reaper.in_flight.batch_id is 'Uuid of the batch and its fencing token.';
comment on column reaper.in_flight.state is 'CLAIMED: rows are marked. RELEASED: rows are deleted; objects and cache entries are still to be deleted.';
comment on column reaper.in_flight.worker is 'Worker that holds the batch; null = ownerless.';
comment on column reaper.in_flight.held_for is 'How long the worker has held the batch.';
comment on column reaper.in_flight.codes is 'Number of marked rows (CLAIMED) or of cache entries to delete (RELEASED).';
comment on column reaper.in_flight.objects is 'Number of objects to delete.';
comment on column reaper.in_flight.bytes is 'Bytes of the objects whose size is known.';
comment on column reaper.in_flight.claimed_at is 'When the rows were marked.';
comment on column reaper.in_flight.released_at is 'When rows and references were deleted; null while CLAIMED.';
revoke all on reaper.in_flight from public;
grant select on reaper.in_flight to reaper_worker, reaper_ops, reaper_ro;
