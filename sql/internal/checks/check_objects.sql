-- check_objects: what must be true of object keys. An object is content, or queued for deletion, or being uploaded, and never two of
-- these: else the deletion of a queued object could delete live content.
create or replace function reaper_internal.check_objects()
    returns table (invariant text, subject text, detail text)
    language sql stable
as $$
    with content as materialized (
        select c.content_hash::text collate "C" as content_hash, coalesce(c.object_key, c.content_hash)::text collate "C" as object_key,
               c.size_bytes::bigint
          from reaper.content c
    ), stored as materialized (
        select l.backend, l.object_key, l.content_hash from reaper.object_locations l
        union all
        select 'default', c.object_key, c.content_hash
          from content c
         where not exists (select from reaper.object_locations l where l.content_hash = c.content_hash)
    ), queued as materialized (
        select o.backend, o.object_key, 'batch ' || b.batch_id as place
          from reaper.batches b
         cross join unnest(b.object_backends, b.object_keys) as o (backend, object_key)
        union all
        select q.backend, q.object_key, 'cleanup_queue' from reaper.cleanup_queue q
        union all
        select d.backend, d.object_key, 'cleanup_dlq' from reaper.cleanup_dlq d
    )
    select 'no object key is used twice', s.object_key, format('%s contents use this key on backend %s', count(*), s.backend)
      from stored s
     group by s.backend, s.object_key
    having count(*) > 1
    union all
    select 'no live object is to be deleted', o.object_key, format('content %s uses this key, and it is queued for deletion in %s', s.content_hash, o.place)
      from queued o
      join stored s on s.backend = o.backend and s.object_key = o.object_key
    union all
    select 'an object is queued for deletion once', o.backend || '/' || o.object_key, string_agg(o.place, ', ' order by o.place)
      from queued o
     group by o.backend, o.object_key
    having count(*) > 1
    union all
    select 'a retired name is queued for deletion', k.object_key, format('retired at %s, and in no batch and no queue', k.retired_at)
      from reaper.retired_keys k
     where not exists (select from queued o where o.object_key = k.object_key)
       and not exists (select from reaper.sightings s where s.object_key = k.object_key and s.retired_at is not null)
    union all
    select 'an upload has its name to itself', i.object_key, format('intent %s uploads to this key, and %s uses it too', i.intent_id, u.place)
      from (select p.intent_id, p.backend, p.object_key from reaper.put_intents p
            union all
            select n.intent_id, n.destination, n.object_key from reaper.copy_intents n) as i
      join (select s.backend, s.object_key, 'content ' || s.content_hash as place from stored s
            union all
            select o.backend, o.object_key, o.place from queued o
            union all
            select n.destination, n.object_key, 'copy ' || n.intent_id from reaper.copy_intents n) as u on u.backend = i.backend and u.object_key = i.object_key and u.place <> 'copy ' || i.intent_id
    union all
    select 'every copy belongs to content', l.backend || '/' || l.object_key, format('content %s does not exist', l.content_hash)
      from reaper.object_locations l
     where not exists (select from content c where c.content_hash = l.content_hash)
    union all
    select 'a copy is as large as its content', l.backend || '/' || l.object_key, format('the copy has %s bytes, content %s has %s', l.size_bytes, l.content_hash, c.size_bytes)
      from reaper.object_locations l
      join content c on c.content_hash = l.content_hash
     where l.size_bytes <> c.size_bytes
    union all
    select 'content with copies has one under its own key', c.content_hash, format('no copy has the key %s', c.object_key)
      from content c
     where exists (select from reaper.object_locations l where l.content_hash = c.content_hash)
       and not exists (select from reaper.object_locations l where l.content_hash = c.content_hash and l.object_key = c.object_key);
$$;
comment on function reaper_internal.check_objects() is
    'For check_invariants: violations concerning objects, their copies and their keys.';
revoke all on function reaper_internal.check_objects() from public;
