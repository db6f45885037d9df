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

-- A webhook that fails, copies that are bad or fit nowhere, a comparison that was stopped, a backend that is drained, a limit that is used up.
update reaper.webhooks
   set failures = 9, failing_since = reaper.clock() - interval '2 hours', held_until = reaper.clock() + interval '4 minutes', last_error = 'answered 503'
 where name = 'pager';
insert into reaper.notification_outbox (webhook_id, event_id, type, data, occurred_at, queued_at, next_attempt)
select w.webhook_id, gen_random_uuid(), 'drain.finished', '{}', t, t, reaper.clock()
  from reaper.webhooks w cross join generate_series(1, 5) as i cross join lateral (select reaper.clock() - i * interval '9 minutes') as c (t)
 where w.name = 'pager';
insert into reaper.delivery_dlq (outbox_id, webhook_id, event_id, type, data, occurred_at, attempts, last_error, buried_at)
select 900000 + i, w.webhook_id, gen_random_uuid(), 'drain.finished', '{}', reaper.clock() - interval '4 days', 30, 'answered 503',
       reaper.clock() - interval '1 day'
  from reaper.webhooks w cross join generate_series(1, 12) as i
 where w.name = 'pager';
insert into reaper.object_locations (content_hash, backend, object_key, size_bytes, created_at, trouble, trouble_at)
select md5('c' || i), 'east', 'bad/' || i, 20000, reaper.clock() - interval '9 days', (array['missing', 'corrupt'])[i % 2 + 1], reaper.clock() - interval '3 hours'
  from generate_series(101, 104) as i;
insert into reaper.copy_wants (content_hash, good, reason, queued_at, last_error, next_attempt)
select o.content_hash, 0, o.trouble, o.trouble_at, format('%s on east: %s', o.object_key, o.trouble), reaper.clock() + interval '1 hour'
  from reaper.object_locations o
 where o.trouble is not null;
update reaper.copy_wants set last_error = reaper_internal.no_place_error(), attempts = 5
 where good = 1 and content_hash in (select md5('c' || i) from generate_series(1, 20) as i);
update reaper.reconciliations set phase = 'braked', brake_reason = '2300 of 41190 objects were not listed' where backend = 'west';
update reaper.usage_limits set amount = 1000000 where backend = 'east' and what = 'monthly_requests';
select reaper.set_backend_state('default', 'draining', 'the old disks go');
