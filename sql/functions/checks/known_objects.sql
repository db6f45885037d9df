-- known_objects: which of these keys does PostgreSQL know, and where? A key that is not returned is nobody's.
create or replace function reaper.known_objects(p_backend text, p_keys text[])
    returns table (object_key text, place text, content_hash text, size_bytes bigint)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select c.object_key::text, 'content', c.content_hash::text, c.size_bytes::bigint
      from public.content c
     where c.object_key = any (p_keys)
    union all
    select c.content_hash::text, 'content', c.content_hash::text, c.size_bytes::bigint
      from public.content c
     where c.content_hash = any (p_keys) and c.object_key is null
    union all
    select o.object_key, 'batch', o.content_hash, o.size_bytes
      from reaper.batches b
     cross join unnest(b.object_backends, b.object_keys, b.object_hashes, b.object_sizes) as o (backend, object_key, content_hash, size_bytes)
     where b.object_keys && p_keys and o.backend = p_backend and o.object_key = any (p_keys)
    union all
    select q.object_key, 'cleanup_queue', q.content_hash, q.size_bytes
      from reaper.cleanup_queue q
     where q.backend = p_backend and q.object_key = any (p_keys)
    union all
    select d.object_key, 'cleanup_dlq', d.content_hash, d.size_bytes
      from reaper.cleanup_dlq d
     where d.backend = p_backend and d.object_key = any (p_keys);
$$;
comment on function reaper.known_objects(text, text[]) is
    'The keys among p_keys that are stored content, or whose deletion is owed (batch, cleanup_queue, cleanup_dlq); the others are orphans.';
revoke all on function reaper.known_objects(text, text[]) from public;
grant execute on function reaper.known_objects(text, text[]) to reaper_worker, reaper_ops, reaper_ro;
