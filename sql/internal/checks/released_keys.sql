-- released_keys: object keys that wait for their deletion and whose content rows are gone: all that is left to look for after a drain from
-- SQL alone. What was released under a former binding is left out: it says nothing about this one.
create or replace function reaper_internal.released_keys(p_limit integer)
    returns table (content_hash text, backend text, object_key text, size_bytes bigint)
    language sql stable
as $$
    with bound as (
        select b.bound_at from reaper.bindings b where b.name = 'content'
    ), waiting as (
        select o.content_hash, o.backend, o.object_key, o.size_bytes
          from (select r.* from reaper.batches r, bound where r.state = 'RELEASED' and r.released_at >= bound.bound_at limit 20) as r
         cross join unnest(r.object_hashes, r.object_backends, r.object_keys, r.object_sizes) as o (content_hash, backend, object_key, size_bytes)
        union all
        (select q.content_hash, q.backend, q.object_key, q.size_bytes
           from reaper.cleanup_queue q, bound
          where q.queued_at >= bound.bound_at
          limit 10000)
    )
    select w.content_hash, w.backend, w.object_key, w.size_bytes
      from waiting w
     where w.backend = 'default'
       and exists (select from reaper_internal.reusable_names(array[w.content_hash], array[w.backend], array[w.object_key]))
     order by random()
     limit p_limit;
$$;
comment on function reaper_internal.released_keys(integer) is
    'For sample_keys: object keys of released batches and of the cleanup queue that reaper did not generate, by chance.';
revoke all on function reaper_internal.released_keys(integer) from public;
