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
comment on view reaper.in_flight is 'Batches that are being worked on, oldest first.';
comment on column reaper.in_flight.batch_id is 'The fencing token.';
comment on column reaper.in_flight.state is 'CLAIMED: rows are marked. RELEASED: rows are gone, side effects are owed.';
comment on column reaper.in_flight.worker is 'Who holds it; null = nobody.';
comment on column reaper.in_flight.held_for is 'Since when the holder has it.';
comment on column reaper.in_flight.codes is 'Rows that are marked, or cache entries to drop.';
comment on column reaper.in_flight.objects is 'Objects to delete.';
comment on column reaper.in_flight.bytes is 'Their bytes, as far as known.';
comment on column reaper.in_flight.claimed_at is 'When the rows were marked.';
comment on column reaper.in_flight.released_at is 'When rows and references went.';
revoke all on reaper.in_flight from public;
grant select on reaper.in_flight to reaper_worker, reaper_ops, reaper_ro;
