-- known_objects: which of these keys does PostgreSQL know on a backend, and from which table? A key that is not returned is an orphan.
-- Content is stored where object_locations says, and without a row there on backend default.
create or replace function reaper.known_objects(p_backend text, p_keys text[])
    returns table (object_key text, place text, content_hash text, size_bytes bigint)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select l.object_key, 'content', l.content_hash, l.size_bytes
      from reaper.object_locations l
     where l.backend = p_backend and l.object_key = any (p_keys)
    union all
    select c.object_key::text collate "C", 'content', c.content_hash::text collate "C", c.size_bytes::bigint
      from reaper.content c
     where p_backend = 'default' and c.object_key = any (p_keys)
       and not exists (select from reaper.object_locations l where l.content_hash = c.content_hash collate "C")
    union all
    select c.content_hash::text collate "C", 'content', c.content_hash::text collate "C", c.size_bytes::bigint
      from reaper.content c
     where p_backend = 'default' and c.content_hash = any (p_keys) and c.object_key is null
       and not exists (select from reaper.object_locations l where l.content_hash = c.content_hash collate "C")
    union all
    select i.object_key, 'intent', i.content_hash, i.size_bytes
      from reaper.put_intents i
     where i.backend = p_backend and i.object_key = any (p_keys)
    union all
    select i.object_key, 'copy_intent', i.content_hash, i.size_bytes
      from reaper.copy_intents i
     where i.destination = p_backend and i.object_key = any (p_keys)
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
    'The keys among p_keys that are stored content on the backend, being uploaded (intent, copy_intent), or queued for deletion (batch, cleanup_queue, cleanup_dlq); all other keys are orphans.';
revoke all on function reaper.known_objects(text, text[]) from public;
grant execute on function reaper.known_objects(text, text[]) to reaper_worker, reaper_ops, reaper_ro;
