-- stuck: batches that make no progress: those that reset_stuck would take now, and ownerless ones.
create or replace view reaper.stuck as
    select b.batch_id,
           b.state,
           b.worker,
           reaper.clock() - b.held_since as held_for,
           cardinality(b.short_codes) as codes,
           r.reason
      from reaper.batches b
     cross join lateral reaper.stuck_reason(b.worker, b.held_since, reaper.clock()) as r (reason)
     where r.reason is not null
     order by b.claimed_at;
comment on view reaper.stuck is 'Batches that make no progress. reset_stuck returns the rows of CLAIMED ones; the next drain adopts RELEASED ones.';
comment on column reaper.stuck.batch_id is 'Uuid of the batch and its fencing token.';
comment on column reaper.stuck.state is 'CLAIMED or RELEASED.';
comment on column reaper.stuck.worker is 'Worker that held the batch; null = ownerless.';
comment on column reaper.stuck.held_for is 'How long the batch has been held.';
comment on column reaper.stuck.codes is 'Number of marked rows (CLAIMED) or of cache entries to delete (RELEASED).';
comment on column reaper.stuck.reason is 'Why the batch makes no progress.';
revoke all on reaper.stuck from public;
grant select on reaper.stuck to reaper_worker, reaper_ops, reaper_ro;
