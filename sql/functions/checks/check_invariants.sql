-- check_invariants: everything that must be true at every instant, judged in one snapshot. Empty when all is well.
-- Reads pastes and content once; on large tables run it on a standby or at a quiet hour.
create or replace function reaper.check_invariants()
    returns table (invariant text, subject text, detail text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    with named as materialized (
        select p.content_hash, count(*) as refs from public.pastes p group by p.content_hash
    ), claimed as materialized (
        select c.short_code
          from reaper.batches b
         cross join unnest(b.short_codes) as c (short_code)
         where b.state = 'CLAIMED'
    ), owed as materialized (
        select o.backend, o.object_key, 'batch ' || b.batch_id as place
          from reaper.batches b
         cross join unnest(b.object_backends, b.object_keys) as o (backend, object_key)
        union all
        select q.backend, q.object_key, 'cleanup_queue' from reaper.cleanup_queue q
        union all
        select d.backend, d.object_key, 'cleanup_dlq' from reaper.cleanup_dlq d
    )
    select 'ref_count equals the paste rows', coalesce(c.content_hash, n.content_hash),
           format('ref_count is %s, paste rows are %s', coalesce(c.ref_count::text, 'missing'), coalesce(n.refs, 0))
      from public.content c
      full join named n on n.content_hash = c.content_hash
     where c.ref_count is distinct from coalesce(n.refs, 0)
       and c.content_hash is not null
    union all
    select 'every paste has its content', n.content_hash, format('%s paste rows name content that does not exist', n.refs)
      from named n
     where not exists (select from public.content c where c.content_hash = n.content_hash)
    union all
    select 'every marked row is in a batch', p.short_code, format('marked since %s', p.deletion_initiated_at)
      from public.pastes p
     where p.deletion_status = 'DELETION_IN_PROGRESS'
       and not exists (select from claimed c where c.short_code = p.short_code)
    union all
    select 'no row is left DELETED', p.short_code, 'DELETED means that the row is gone'
      from public.pastes p
     where p.deletion_status = 'DELETED'
    union all
    select 'every claimed batch has rows', b.batch_id::text, format('held by %s', coalesce(b.worker, 'nobody'))
      from reaper.batches b
     where b.state = 'CLAIMED' and b.short_codes = '{}'
    union all
    select 'no object key is used twice', coalesce(c.object_key, c.content_hash), format('%s content rows have it', count(*))
      from public.content c
     group by coalesce(c.object_key, c.content_hash)
    having count(*) > 1
    union all
    select 'no live object is to be deleted', o.object_key, format('content %s has this key, and %s wants it deleted', c.content_hash, o.place)
      from owed o
      join public.content c on coalesce(c.object_key, c.content_hash) = o.object_key
    union all
    select 'an owed deletion is written down once', o.backend || '/' || o.object_key, string_agg(o.place, ', ' order by o.place)
      from owed o
     group by o.backend, o.object_key
    having count(*) > 1
    union all
    select 'a retired name is owed a deletion', k.object_key, format('retired at %s, and in no batch and no queue', k.retired_at)
      from reaper.retired_keys k
     where not exists (select from owed o where o.object_key = k.object_key);
$$;
comment on function reaper.check_invariants() is
    'What is not as it must be: which invariant, on what, and how. Empty when all is well; read-only, one snapshot.';
revoke all on function reaper.check_invariants() from public;
grant execute on function reaper.check_invariants() to reaper_worker, reaper_ops, reaper_ro;
