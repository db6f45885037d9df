-- Much to do, and all of it done in time.

with made as (
    insert into content (content_hash, object_key, ref_count, size_bytes)
    select md5('c' || i), 'key/' || md5('c' || i), 1, 20000 from generate_series(1, 4000) as i
    returning content_hash
)
insert into pastes (short_code, content_hash, expires_at)
select 'p' || row_number() over (), content_hash,
       reaper.clock() - (row_number() over ()) * interval '2 seconds' + interval '20 minutes'
  from made;

-- One batch a minute for a day, with a burst.
insert into reaper.runs (batch_id, worker, rows_claimed, rows_deleted, rows_returned, rows_blocked, objects_deleted, objects_failed,
                         bytes_freed, invalidations_failed, claimed_at, released_at, finished_at, held_since)
select gen_random_uuid(), 'web-1:1:aa', n, n, 0, 0, n * 4 / 5, 0, n * 20000::bigint, 0, t - interval '2 seconds', t - interval '1 second', t,
       t - interval '2 seconds'
  from (select reaper.clock() - m * interval '1 minute' as t,
               (400 + 250 * sin(m / 90.0) + case when m between 500 and 560 then 900 else 0 end + (m * 7919) % 120)::int as n
          from generate_series(1, 1430) as m) as d
 order by t;

insert into reaper.workers (worker, started_at, beat_at, takes_jobs)
select 'expiry-' || i || ':' || 4100 + i || ':7c' || i || 'e', reaper.clock() - interval '9 days', reaper.clock() + interval '1 hour', true
  from generate_series(1, 3) as i;

select reaper.register_backend('east', 500000000000), reaper.register_backend('west', 400000000000),
       reaper.register_backend('default');
insert into reaper.byte_deltas (backend, used_bytes, orphan_bytes, reserved_bytes)
values ('east', 312400000000, 1800000000, 96000000), ('west', 118000000000, 0, 12000000), ('default', 4200000000, 0, 0);
insert into reaper.backend_owners (backend, state, detail, checked_at, installation_id, database, system_identifier)
select b, 'ours', 'owned by this installation', reaper.clock(), i.installation_id, i.database, i.system_identifier
  from unnest('{default,east,west}'::text[]) as b cross join reaper.installation_identity() as i;

update reaper.services
   set next_run_at = reaper.clock() + service_key * interval '7 minutes', last_started_at = reaper.clock() - interval '40 seconds',
       last_finished_at = reaper.clock() - interval '38 seconds', runs = 400,
       last_result = case when name = 'drain' then '{"rows_deleted": 41200, "objects_deleted": 33002}'::jsonb else '{}'::jsonb end;

insert into reaper.cleanup_queue (backend, object_key, size_bytes, last_error, queued_at, next_attempt, attempts)
select 'east', 'east/key' || i, 20000, case when i % 3 > 0 then 'SlowDown: reduce your request rate' end,
       reaper.clock() - i * interval '10 minutes', reaper.clock() + (i % 40 - 8) * interval '1 minute', i % 4
  from generate_series(1, 300) as i;

create table public.logins (id bigint primary key, at timestamptz not null);
create index on public.logins (at);
create table public.access_log (id bigint primary key, seen_at timestamptz not null);
create index on public.access_log (seen_at);
insert into public.logins select i, reaper.clock() - i * interval '1 hour' from generate_series(1, 2000) as i;
analyze public.logins;
grant select, delete, update (at) on public.logins to reaper_owner;
grant select, delete, update (seen_at) on public.access_log to reaper_owner;
select reaper.add_retention_policy('logins', 'public.logins', 'at', '30 days', p_schedule => '@hourly'),
       reaper.add_retention_policy('access-log', 'public.access_log', 'seen_at', '1 year', p_schedule => '@daily');
select reaper.enable_policy('access-log', 'agreed with the security team');

select reaper.pause('prune', '2 hours', 'index is being rebuilt'), reaper.set_backend_state('west', 'readonly', 'firmware'),
       reaper.set_backend_state('west', 'active', 'firmware is done'), reaper.reschedule('drain', 'continuous', 'the backlog of March'),
       reaper.resume('prune', 'index is there');

create index on pastes (created_at, short_code);
select reaper.add_lifecycle_rule('logs', p_prefix => 'p', p_expiration_days => 30, p_enabled => true),
       reaper.add_lifecycle_rule('large', p_min_size => 1000000, p_expiration_days => 365);
update reaper.lifecycle_rules set last_pass_at = reaper.clock() - interval '50 minutes', last_expired = 1204 where name = 'logs';

select reaper.add_webhook('chat', 'https://chat.example.com/hooks/T01', '{circuit.*,drain.finished}', 'CHAT_SECRET'),
       reaper.add_webhook('pager', 'https://pager.example.org/in', '{*}', null);
update reaper.webhooks set last_delivered_at = reaper.clock() - interval '3 minutes' where name = 'chat';

select reaper.register_limits('east', 2000000, null, 500000000000);
insert into reaper.usage_monthly (month, backend, requests_read, requests_write, requests_list, requests_delete, ingress, egress)
select date_trunc('month', reaper.clock() at time zone 'UTC')::date, b, 912000, 310500, 1200, 4100, 61000000000, 402000000000
  from unnest('{east,west}'::text[]) as b;

update reaper.settings set replication_factor = 2;
update reaper.copy_sweep set fingerprint = '2||', started_at = reaper.clock() - interval '4 minutes', finished_at = null, after_hash = '5f0c', looked_at = 1500,
       wanted = 61;
insert into reaper.copy_wants (content_hash, good, reason, queued_at, next_attempt)
select md5('c' || i), 1, 'few', reaper.clock() - i * interval '1 second', reaper.clock() + (i % 9 - 3) * interval '1 minute'
  from generate_series(1, 60) as i;
insert into reaper.reconciliations (backend, began_at, finished_at, listed, expected, missing, unknown, copies, verified, oldest, counted_at)
select b, reaper.clock() - interval '7 hours', reaper.clock() - interval '6 hours', 41200, 41190, 0, 10, 41190, 39800, reaper.clock() - interval '41 days',
       reaper.clock() - interval '1 hour'
  from unnest('{east,west}'::text[]) as b;
