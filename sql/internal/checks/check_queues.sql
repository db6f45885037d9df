-- check_queues: what must be true of queued work. On a backend that is not registered, or with a time that is never reached, it would wait
-- for ever; and an object key that can be reused must be in retired_keys while its deletion is queued.
create or replace function reaper_internal.check_queues()
    returns table (invariant text, subject text, detail text)
    language sql stable
as $$
    with queued as materialized (
        select o.backend, o.object_key, o.content_hash
          from reaper.batches b
         cross join unnest(b.object_backends, b.object_keys, b.object_hashes) as o (backend, object_key, content_hash)
        union all
        select q.backend, q.object_key, q.content_hash from reaper.cleanup_queue q
        union all
        select d.backend, d.object_key, d.content_hash from reaper.cleanup_dlq d
    ), used as (
        select o.backend from queued o
        union all
        select l.backend from reaper.object_locations l
        union all
        select i.backend from reaper.put_intents i
        union all
        select i.destination from reaper.copy_intents i
    ), waits as (
        select q.backend || '/' || q.object_key as subject, q.next_attempt as until from reaper.cleanup_queue q
        union all
        select 'cache entry ' || i.short_code, i.next_attempt from reaper.invalidations i
        union all
        select 'intent ' || i.intent_id, i.next_attempt from reaper.put_intents i
        union all
        select 'paste ' || b.short_code, b.next_attempt from reaper.blocked b
        union all
        select 'circuit of ' || c.backend, c.retry_at from reaper.circuits c
        union all
        select 'copies of content ' || w.content_hash, w.next_attempt from reaper.copy_wants w
        union all
        select 'excess copies of content ' || e.content_hash, e.next_attempt from reaper.copy_excess e
        union all
        select 'copy ' || i.intent_id, i.lease_until from reaper.copy_intents i
        union all
        select 'suspected copy ' || s.backend || '/' || s.object_key, s.next_attempt from reaper.suspects s
        union all
        select 'scan for stray marks', s.rest_until from reaper.stray_scan s
    )
    select 'every backend is known', u.backend, format('%s objects and puts name this backend, but it is not in backend_list', count(*))
      from used u
     where not exists (select from reaper.backend_list b where b.name = u.backend)
     group by u.backend
    union all
    select 'a name that may come back is retired', n.backend || '/' || n.object_key, 'queued for deletion but not in retired_keys: new content could use this key'
      from (select array_agg(o.content_hash) as hashes, array_agg(o.backend) as backends, array_agg(o.object_key) as keys from queued o) as o
     cross join reaper_internal.reusable_names(o.hashes, o.backends, o.keys) as n
     where not exists (select from reaper.retired_keys k where k.object_key = n.object_key)
    union all
    select 'a name that may come back is retired', s.backend || '/' || s.object_key, 'about to be queued as untracked but not in retired_keys: new content could use this key'
      from reaper.sightings s
     where s.retired_at is not null
       and not exists (select from reaper.retired_keys k where k.object_key = s.object_key)
    union all
    select 'an upload has room reserved', i.intent_id::text, format('%s bytes are uploaded to %s without a reservation', i.size_bytes, i.backend)
      from reaper.put_intents i
     where i.upload_required and not i.reserved
    union all
    -- A release skips the wants that others hold; the claim that comes to them deletes them.
    select 'what wants a copy exists', w.content_hash, format('wanted since %s, due since %s, and there is no such content', w.queued_at, w.next_attempt)
      from reaper.copy_wants w
     where w.next_attempt <= reaper.clock() - interval '1 hour'
       and not exists (select from reaper.content c where c.content_hash = w.content_hash collate "default")
    union all
    -- The longest wait that the settings allow is a month.
    select 'what waits comes due', w.subject, format('next attempt not before %s', w.until)
      from waits w
     where w.until > reaper.clock() + interval '32 days';
$$;
comment on function reaper_internal.check_queues() is
    'For check_invariants: violations concerning queued deletions, cache entries and puts.';
revoke all on function reaper_internal.check_queues() from public;
