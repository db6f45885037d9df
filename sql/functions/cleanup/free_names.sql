-- free_names: a retired name may be used again when no deletion of it is owed any more, on any backend.
create or replace function reaper.free_names(p_keys text[])
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    -- A variable, because the list's own collation is not the one of the queues' indexes.
    v_backends text[] := array(select b.name from reaper.backend_list b);
begin
    delete from reaper.retired_keys k
     where k.object_key = any (p_keys)
       and not exists (select from reaper.cleanup_queue q where q.backend = any (v_backends) and q.object_key = k.object_key)
       and not exists (select from reaper.cleanup_dlq d where d.backend = any (v_backends) and d.object_key = k.object_key);
end;
$$;
comment on function reaper.free_names(text[]) is
    'Internal: takes those of these names out of reaper.retired_keys that are in no queue.';
revoke all on function reaper.free_names(text[]) from public;
