-- A store that refuses, one that is away, rows that may not be deleted, a service that fails, a silent worker.
insert into reaper.cleanup_dlq (queue_id, backend, object_key, size_bytes, attempts, cause, last_error, queued_at, buried_at)
select 900000 + i, (array['east', 'default'])[i % 2 + 1], 'key/' || md5(i::text), 20000, 10, (array['AccessDenied', 'ObjectLocked'])[i % 2 + 1],
       (array['AccessDenied: the policy of the bucket does not allow s3:DeleteObject',
              'ObjectLocked: retention until 2031-01-01'])[i % 2 + 1],
       reaper.clock() - interval '3 days', reaper.clock() - i * interval '1 minute'
  from generate_series(1, 137) as i;
insert into reaper.circuits (backend, state, failures, changed_at, retry_at, last_error)
values ('west', 'open', 12, reaper.clock() - interval '26 minutes', reaper.clock() + interval '40 seconds', 'connect timeout after 5 s');
create table public.remarks (id bigint primary key, code text not null constraint remarks_code_fkey references pastes);
insert into reaper.blocked (short_code, sqlstate, message, attempts, blocked_at, next_attempt)
select 'p' || i, '23503',
       'update or delete on table "pastes" violates foreign key constraint "remarks_code_fkey" on table "remarks"',
       4, reaper.clock() - interval '5 hours', reaper.clock() + interval '20 minutes'
  from generate_series(100, 141) as i;
insert into reaper.blocked (short_code, sqlstate, message, attempts, blocked_at, next_attempt)
values ('legal-1', 'P0001', 'paste legal-1 is under legal hold', 2, reaper.clock() - interval '1 hour', reaper.clock() + interval '1 hour');
update reaper.services set consecutive_failures = 6, last_error = 'AccessDenied: the policy of the bucket does not allow s3:ListBucket'
 where name = 'unreferenced';
update reaper.workers set beat_at = reaper.clock() - interval '31 minutes' where worker like 'expiry-3%';
update reaper.workers set throttled = 'replica standby-2 is 00:00:47 behind', degraded = '{"redis": "connection refused"}'
 where worker like 'expiry-2%';
