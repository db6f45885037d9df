-- objects_of_subject: every object that rows name for a hash, or for the content of a code: copies, pending deletions, puts.
-- The keys are those that the binding, the queues and the intents name; whether an object lies there only the backend knows.
create or replace function reaper.objects_of_subject(p_subject text)
    returns table (backend text, object_key text, size_bytes bigint, state text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    with hashes as (
        select p_subject as content_hash
        union
        select p.content_hash::text from reaper.pastes p where p.short_code = p_subject
    )
    select w.backend, w.object_key, w.size_bytes, coalesce(l.trouble || ' copy', 'copy')
      from hashes h
     cross join lateral reaper.copies_of(h.content_hash) as w
      left join reaper.object_locations l on l.content_hash = h.content_hash and l.backend = w.backend
    union all
    select i.destination, i.object_key, i.size_bytes, 'copy begun'
      from hashes h
      join reaper.copy_intents i on i.content_hash = h.content_hash
    union all
    select o.backend, o.object_key, o.size_bytes, 'deletion begun'
      from hashes h
      join reaper.batches b on b.object_hashes @> array[h.content_hash]
     cross join unnest(b.object_hashes, b.object_backends, b.object_keys, b.object_sizes) as o (content_hash, backend, object_key, size_bytes)
     where o.content_hash = h.content_hash
    union all
    select q.backend, q.object_key, q.size_bytes, 'deletion queued' from hashes h join reaper.cleanup_queue q on q.content_hash = h.content_hash
    union all
    select d.backend, d.object_key, d.size_bytes, 'in the DLQ' from hashes h join reaper.cleanup_dlq d on d.content_hash = h.content_hash
    union all
    select i.backend, i.object_key, i.size_bytes, 'put begun'
      from reaper.put_intents i
     where i.short_code = p_subject or i.content_hash in (select h.content_hash from hashes h)
     order by 4, 1, 2;
$$;
comment on function reaper.objects_of_subject(text) is
    'Objects of a content (by its hash) or a paste (by its code): backend, key, size if known, and state: copy, missing copy, corrupt copy, copy begun, deletion begun, deletion queued, in the DLQ, put begun.';
revoke all on function reaper.objects_of_subject(text) from public;
grant execute on function reaper.objects_of_subject(text) to reaper_worker, reaper_ops, reaper_ro;
