-- backend_remains: what lies on a backend, is being stored there, or is queued for deletion there. Empty when remove_backend would succeed.
create or replace function reaper.backend_remains(p_name text)
    returns table (what text, number bigint, bytes numeric)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select r.what, r.number, r.bytes
      from (select 'copies' as what, count(*) as number, coalesce(sum(l.size_bytes), 0) as bytes
              from reaper.object_locations l where l.backend = p_name
            union all
            select 'contents without a location row', count(*), coalesce(sum(c.size_bytes), 0)
              from reaper.content c
             where p_name = 'default' and not exists (select from reaper.object_locations l where l.content_hash = c.content_hash collate "C")
            union all
            select 'puts in progress', count(*), coalesce(sum(i.size_bytes), 0) from reaper.put_intents i where i.backend = p_name
            union all
            select 'copies in progress', count(*), coalesce(sum(i.size_bytes), 0) from reaper.copy_intents i where i.destination = p_name
            union all
            select 'deletions begun', count(*), coalesce(sum(o.size_bytes), 0)
              from reaper.batches b
             cross join unnest(b.object_backends, b.object_sizes) as o (backend, size_bytes)
             where o.backend = p_name
            union all
            select 'deletions queued', count(*), coalesce(sum(q.size_bytes), 0) from reaper.cleanup_queue q where q.backend = p_name
            union all
            select 'DLQ entries', count(*), coalesce(sum(d.size_bytes), 0) from reaper.cleanup_dlq d where d.backend = p_name
            union all
            select 'untracked objects to be deleted', count(*), coalesce(sum(s.size_bytes), 0)
              from reaper.sightings s where s.backend = p_name and s.retired_at is not null) as r
     where r.number > 0;
$$;
comment on function reaper.backend_remains(text) is
    'What a backend still has, by kind: number and bytes of copies, contents without a location row (on default), puts and copies in progress, deletions that are begun or queued, DLQ entries, untracked objects that are to be deleted. No row if nothing is left. Of uploads in parts only the store knows: reaper backend remove looks.';
revoke all on function reaper.backend_remains(text) from public;
grant execute on function reaper.backend_remains(text) to reaper_worker, reaper_ops, reaper_ro;
