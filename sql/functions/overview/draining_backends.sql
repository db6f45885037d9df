-- draining_backends: what the backends that are drained still have, each kind counted up to p_counted_to along its index. backend_remains()
-- counts all of it, which takes long where much is left.
create or replace function reaper.draining_backends(p_counted_to integer default 10000)
    returns table (backend text, what text, number bigint)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    select b.name, r.what, r.number
      from reaper.backend_list b
     cross join lateral (
        select 'copies', count(*) from (select from reaper.object_locations l where l.backend = b.name limit p_counted_to) as c
        union all
        select 'puts in progress', count(*) from (select from reaper.put_intents i where i.backend = b.name limit p_counted_to) as c
        union all
        select 'copies in progress', count(*) from (select from reaper.copy_intents i where i.destination = b.name limit p_counted_to) as c
        union all
        select 'deletions queued', count(*) from (select from reaper.cleanup_queue q where q.backend = b.name limit p_counted_to) as c
        union all
        select 'DLQ entries', count(*) from (select from reaper.cleanup_dlq d where d.backend = b.name limit p_counted_to) as c) as r (what, number)
     where b.state = 'draining' and r.number > 0
     order by b.name, r.what;
$$;
comment on function reaper.draining_backends(integer) is
    'What each draining backend still has, by kind; p_counted_to means at least that many. Whether nothing at all is left says backend_remains().';
revoke all on function reaper.draining_backends(integer) from public;
grant execute on function reaper.draining_backends(integer) to reaper_worker, reaper_ops, reaper_ro;
