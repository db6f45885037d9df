-- free_names: a retired name may be used again as soon as no deletion of it is queued any more, on any backend.
-- If one still is, the name is locked and judged once more: of two transactions that settle the last two copies at the same time, the
-- later one sees the result of the earlier, so no name stays retired for ever.
create or replace function reaper_internal.free_names(p_keys text[])
    returns void
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    -- A variable, because the list's own collation is not the one of the queues' indexes.
    v_backends  text[] := array(select b.name from reaper.backend_list b);
    v_owed      text[];
begin
    -- The names to free were retired by an earlier commit: if the table is empty, there are none.
    if not exists (select from reaper.retired_keys) then
        return;
    end if;
    -- Only the transaction that settles a batch queues its names, so while both queues are empty none of these is queued.
    if not exists (select from reaper.cleanup_queue) and not exists (select from reaper.cleanup_dlq)
       and not exists (select from reaper.sightings s where s.retired_at is not null) then
        delete from reaper.retired_keys k where k.object_key = any (p_keys);
        return;
    end if;
    for v_look in 1 .. 2 loop
        v_owed := array(select q.object_key from reaper.cleanup_queue q where q.backend = any (v_backends) and q.object_key = any (p_keys)
                        union all
                        select d.object_key from reaper.cleanup_dlq d where d.backend = any (v_backends) and d.object_key = any (p_keys)
                        union all
                        select s.object_key from reaper.sightings s where s.retired_at is not null and s.object_key = any (p_keys));
        delete from reaper.retired_keys k where k.object_key = any (p_keys) and k.object_key <> all (v_owed);
        perform from reaper.retired_keys k where k.object_key = any (v_owed) order by k.object_key for update;
        exit when not found;
    end loop;
end;
$$;
comment on function reaper_internal.free_names(text[]) is
    'For finish_batch and finish_cleanup: removes names from reaper.retired_keys that no longer belong to an object queued for deletion.';
revoke all on function reaper_internal.free_names(text[]) from public;
