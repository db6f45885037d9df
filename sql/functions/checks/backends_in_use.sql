-- backends_in_use: every backend on which something lies, is owed a deletion, or is about to be written, whatever is configured.
create or replace function reaper.backends_in_use()
    returns table (backend text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select b.name
      from reaper.backend_list b
     where exists (select from reaper.object_locations l where l.backend = b.name)
        or exists (select from reaper.cleanup_queue q where q.backend = b.name)
        or exists (select from reaper.cleanup_dlq d where d.backend = b.name)
        or exists (select from reaper.put_intents i where i.backend = b.name)
        or exists (select from reaper.batches r where r.object_backends @> array[b.name])
        or (b.name = 'default' and exists (select from public.content c
                                            where not exists (select from reaper.object_locations l where l.content_hash = c.content_hash collate "C")));
$$;
comment on function reaper.backends_in_use() is
    'The backends on which an object lies, is owed a deletion or is announced: verify must look at each.';
revoke all on function reaper.backends_in_use() from public;
grant execute on function reaper.backends_in_use() to reaper_worker, reaper_ops, reaper_ro;
