"""Three systems that the operators' page is looked at with: nothing there, all busy, and much amiss."""

from __future__ import annotations

import psycopg

from reaper.services import ALL

SERVICES = "select reaper.register_service(%s, %s, %s, %s)"

PASTES = """
with made as (
    insert into content (content_hash, object_key, ref_count, size_bytes)
    select md5('c' || i), 'key/' || md5('c' || i), 1, 20000 from generate_series(1, %(contents)s) as i
    returning content_hash
)
insert into pastes (short_code, content_hash, expires_at)
select 'p' || row_number() over (), content_hash,
       reaper.clock() - (row_number() over ()) * interval '2 seconds' + interval '20 minutes'
  from made
"""
# A night's drain and what a day brings: one batch a minute, with two bursts.
RUNS = """
insert into reaper.runs (batch_id, worker, rows_claimed, rows_deleted, rows_returned, rows_blocked, objects_deleted, objects_failed,
                         bytes_freed, invalidations_failed, claimed_at, released_at, finished_at, held_since)
select gen_random_uuid(), 'web-1:1:aa', n, n, 0, 0, n * 4 / 5, 0, n * 20000::bigint, 0, t - interval '2 seconds', t - interval '1 second', t,
       t - interval '2 seconds'
  from (select reaper.clock() - m * interval '1 minute' as t,
               (400 + 250 * sin(m / 90.0) + case when m between 500 and 560 then 900 else 0 end + (m * 7919) % 120)::int as n
          from generate_series(1, 1430) as m) as d
 order by t
"""
WORKERS = """
insert into reaper.workers (worker, started_at, beat_at, takes_jobs)
select 'expiry-' || i || ':' || 4100 + i || ':7c' || i || 'e', reaper.clock() - interval '9 days', reaper.clock() + interval '1 hour', true
  from generate_series(1, 3) as i
"""
BACKENDS = """
select reaper.register_backend('east', 500000000000), reaper.register_backend('west', 400000000000),
       reaper.register_backend('default');
insert into reaper.byte_deltas (backend, used_bytes, orphan_bytes, reserved_bytes)
values ('east', 312400000000, 1800000000, 96000000), ('west', 118000000000, 0, 12000000), ('default', 4200000000, 0, 0);
insert into reaper.backend_owners (backend, state, detail, checked_at, installation_id, database, system_identifier)
select b, 'ours', 'owned by this installation', reaper.clock(), i.installation_id, i.database, i.system_identifier
  from unnest('{default,east,west}'::text[]) as b cross join reaper.installation_identity() as i
"""
RESULTS = """
update reaper.services
   set next_run_at = reaper.clock() + service_key * interval '7 minutes', last_started_at = reaper.clock() - interval '40 seconds',
       last_finished_at = reaper.clock() - interval '38 seconds', runs = 400,
       last_result = case when name = 'drain' then '{"rows_deleted": 41200, "objects_deleted": 33002}'::jsonb else '{}'::jsonb end
"""
WAITING = """
insert into reaper.cleanup_queue (backend, object_key, size_bytes, last_error, queued_at, next_attempt, attempts)
select 'east', 'east/key' || i, 20000, case when i %% 3 > 0 then 'SlowDown: reduce your request rate' end,
       reaper.clock() - i * interval '10 minutes', reaper.clock() + (i %% 40 - 8) * interval '1 minute', i %% 4
  from generate_series(1, %(waiting)s) as i
"""
POLICIES = """
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
select reaper.enable_policy('access-log', 'agreed with the security team')
"""
AUDIT = """
select reaper.pause('prune', '2 hours', 'index is being rebuilt'), reaper.set_backend_state('west', 'readonly', 'firmware'),
       reaper.set_backend_state('west', 'active', 'firmware is done'), reaper.reschedule('drain', 'continuous', 'the backlog of March'),
       reaper.resume('prune', 'index is there')
"""
# What goes wrong: a store that refuses, one that is away, rows that may not go, a service that fails, a worker that is silent.
SICK = """
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
 where worker like 'expiry-2%'
"""


def register_services(db: psycopg.Connection) -> None:
    """As a worker does when it starts."""
    for service in ALL:
        db.execute(SERVICES, [service.name, service.schedule, service.description, service.enabled])


def make_busy(db: psycopg.Connection, contents: int = 4000, waiting: int = 300) -> None:
    """Much to do, and all of it done in time."""
    register_services(db)
    db.execute(PASTES, {"contents": contents})
    for statement in (RUNS, WORKERS, BACKENDS, RESULTS):
        db.execute(statement)
    db.execute(WAITING, {"waiting": waiting})
    db.execute(POLICIES)
    db.execute(AUDIT)


def make_sick(db: psycopg.Connection) -> None:
    """The busy one, and much that wants a person."""
    make_busy(db)
    db.execute(SICK)
