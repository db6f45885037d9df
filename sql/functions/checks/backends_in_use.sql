-- backends_in_use: every backend with objects that are stored, queued for deletion or being uploaded, configured or not.
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
        or exists (select from reaper.copy_intents i where i.destination = b.name)
        or exists (select from reaper.batches r where r.object_backends @> array[b.name])
        or (b.name = 'default' and exists (select from reaper.content c
                                            where not exists (select from reaper.object_locations l where l.content_hash = c.content_hash collate "C")));
$$;
comment on function reaper.backends_in_use() is
    'Backends with objects that are stored, queued for deletion or being uploaded: verify must list each of them.';
revoke all on function reaper.backends_in_use() from public;
grant execute on function reaper.backends_in_use() to reaper_worker, reaper_ops, reaper_ro;
