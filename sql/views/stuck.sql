-- stuck: batches that reset_stuck would take back or make ownerless now, and those that wait for somebody.
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
comment on view reaper.stuck is 'Batches that make no progress. CLAIMED ones are given back by reset_stuck, RELEASED ones are adopted by the next drain.';
comment on column reaper.stuck.batch_id is 'The fencing token.';
comment on column reaper.stuck.state is 'CLAIMED or RELEASED.';
comment on column reaper.stuck.worker is 'Who held it.';
comment on column reaper.stuck.held_for is 'Since when.';
comment on column reaper.stuck.codes is 'How many rows or cache entries.';
comment on column reaper.stuck.reason is 'Why it is here.';
revoke all on reaper.stuck from public;
grant select on reaper.stuck to reaper_worker, reaper_ops, reaper_ro;
