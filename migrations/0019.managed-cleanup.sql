-- Makes failed deletions a managed queue: fair over backends, outages free of charge, causes that can be filtered, keys that
-- are deleted twice. And remembers for a while which pastes and contents went with which run, so that `why` can tell.
-- locks: reaper.cleanup_queue, reaper.cleanup_dlq and reaper.runs ACCESS EXCLUSIVE while an index each on our own queue and history is built
-- depends: 0018.put-intents
alter table reaper.cleanup_queue add column if not exists outages integer not null default 0;
alter table reaper.cleanup_queue add column if not exists passes_left integer not null default 1
    constraint cleanup_queue_passes_left_check check (passes_left between 1 and 2);
alter table reaper.cleanup_dlq add column if not exists cause text not null default 'other';
alter table reaper.cleanup_dlq add column if not exists passes_left integer not null default 1
    constraint cleanup_dlq_passes_left_check check (passes_left between 1 and 2);
-- The claim takes a fair share of each backend's due rows; the old index alone would walk past a sick backend's millions.
-- squawk-ignore require-concurrent-index-creation
create index if not exists cleanup_queue_due_by_backend on reaper.cleanup_queue (backend, next_attempt);
-- squawk-ignore require-concurrent-index-deletion
drop index if exists reaper.cleanup_queue_due;
-- A lease is settled by its token, a group of dead letters by its cause; neither may read the whole table.
-- squawk-ignore require-concurrent-index-creation
create index if not exists cleanup_queue_lease on reaper.cleanup_queue (lease) where lease is not null;
-- squawk-ignore require-concurrent-index-creation
create index if not exists cleanup_dlq_cause on reaper.cleanup_dlq (backend, cause, queue_id);
alter table reaper.runs add column if not exists short_codes text[];
alter table reaper.runs add column if not exists content_hashes text[];
-- Holds only the runs that still remember, so that forgetting never walks past those that have forgotten.
-- squawk-ignore require-concurrent-index-creation
create index if not exists runs_with_codes on reaper.runs (finished_at) where short_codes is not null;
alter table reaper.settings add column if not exists keep_codes interval not null default '3 days'
    constraint settings_keep_codes_check check (keep_codes between interval '0' and interval '90 days');
grant update (keep_codes) on reaper.settings to reaper_ops;

comment on column reaper.cleanup_queue.outages is 'How often it could not be tried because the backend was away or throttled; costs no attempt.';
comment on column reaper.cleanup_queue.passes_left is 'How many deletions are still wanted: 2 for the key of a dropped intent, whose slow upload may land after the first.';
comment on column reaper.cleanup_dlq.cause is 'The kind of error, for filtering: AccessDenied, ObjectLocked, …; other = not said.';
comment on column reaper.cleanup_dlq.passes_left is 'How many deletions were still wanted; kept, so that a retry owes as many.';
comment on column reaper.runs.short_codes is 'The pastes that went with it; null where settings.keep_codes is 0, and after that time.';
comment on column reaper.runs.content_hashes is 'The contents that went with it; null as short_codes.';
comment on column reaper.settings.keep_codes is 'How long a run remembers which pastes and contents it deleted, for reaper why; 0 = not at all.';
