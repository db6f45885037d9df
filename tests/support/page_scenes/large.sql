-- Five million pastes, of which five have one content and a tenth is due; a million deletions that wait; 100,000 blocked rows, half of
-- them for a reason of their own.
set session_replication_role = replica;
insert into content (content_hash, object_key, ref_count, size_bytes)
select 'h' || i, 'k/' || i, 5, 20000 from generate_series(1, 1000000) as i;
insert into pastes (short_code, content_hash, expires_at)
select 'x' || i, 'h' || i % 1000000 + 1, reaper.clock() + (i % 1000 - 100) * interval '1 minute'
  from generate_series(1, 5000000) as i;
insert into reaper.cleanup_queue (backend, object_key, size_bytes, last_error, queued_at, next_attempt, attempts)
select (array['east', 'west', 'default'])[i % 3 + 1], 'q/' || i, 20000, case when i % 4 > 0 then 'SlowDown: reduce your rate' end,
       reaper.clock() - i * interval '1 second', reaper.clock() + (i % 4000 - 800) * interval '1 second', i % 4
  from generate_series(1, 1000000) as i;
insert into reaper.blocked (short_code, sqlstate, message, attempts, blocked_at, next_attempt)
select 'x' || n, 'P0001', 'paste ' || case when n % 2 = 0 then n::text else '' end || ' is under legal hold', 4,
       reaper.clock() - n * interval '1 second', reaper.clock() + n * interval '1 second'
  from (select 1000 * (i / 100) + i % 100 as n from generate_series(100, 100099) as i) as due;
reset session_replication_role;
analyze content, pastes, reaper.cleanup_queue, reaper.blocked;
