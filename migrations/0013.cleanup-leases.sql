-- Lets several drains retry what is owed side by side: a row is leased to one of them, and comes due again if it dies.
-- locks: reaper.cleanup_queue and reaper.invalidations ACCESS EXCLUSIVE, catalogue change only (milliseconds)
-- depends: 0012.history
alter table reaper.cleanup_queue add column if not exists lease uuid;
alter table reaper.invalidations add column if not exists lease uuid;
comment on column reaper.cleanup_queue.lease is 'The fencing token of whoever tries it now; only with it the row can be settled.';
comment on column reaper.invalidations.lease is 'The fencing token of whoever tries it now; only with it the row can be settled.';
