-- remove_copy: remove a copy that is too many: lock the content, recount, and count only copies that the caller has just seen and that are still
-- the same. Never below the replication factor, never the last verified copy; in doubt the copy stays. The object goes through the queue, a
-- reusable name is retired by the same commit, and the content keeps a key of one of its copies.
create or replace function reaper.remove_copy(p_content_hash text, p_backend text, p_object_key text, p_seen_backends text[], p_seen_keys text[])
    returns text
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_now      timestamptz := reaper.clock();
    v_content  record;
    v_left     record;
begin
    perform reaper_internal.require_read_committed();
    lock table reaper.bindings in access share mode;
    perform reaper_internal.commit_durably();
    -- FOR UPDATE: the key may have to change, and it has a unique index.
    select coalesce(c.object_key, c.content_hash)::text collate "C" as own_key into v_content
      from reaper.content c where c.content_hash = p_content_hash for update;
    if not found then
        return 'gone';
    end if;
    if p_backend = 'default' and p_object_key = v_content.own_key and reaper_internal.own_key_stays() then
        return 'kept: readers may know the copy by its key alone';
    end if;
    select count(*) as copies, coalesce(bool_or(l.verified_at is not null), false) as is_safe, min(l.object_key) as key,
           bool_or(l.object_key = v_content.own_key) as has_own_key
      into v_left
      from unnest(p_seen_backends, p_seen_keys) as n (backend, object_key)
      join reaper.object_locations l on l.content_hash = p_content_hash and l.backend = n.backend and l.object_key = n.object_key
      join reaper_internal.backend_health(v_now) as h on h.backend = l.backend
     where l.trouble is null and h.state <> 'draining' and not h.is_dead and h.backend <> p_backend;
    if v_left.copies < (select s.replication_factor from reaper.settings s) then
        return format('kept: only %s other good copies were seen', v_left.copies);
    end if;
    if not v_left.is_safe then
        return 'kept: none of the other copies was ever verified';
    end if;
    if not coalesce(v_left.has_own_key, false) then
        perform reaper_internal.set_content_key(p_content_hash, p_object_key, v_left.key);
    end if;
    if not reaper_internal.delete_copy(p_content_hash, p_backend, p_object_key, v_now) then
        return 'gone';
    end if;
    perform reaper_internal.sync_needs(array[p_content_hash], v_now);
    return 'removed';
end;
$$;
comment on function reaper.remove_copy(text, text, text, text[], text[]) is
    'Removes a copy if enough of the copies that were just seen (backends and keys) are still good ones: removed, or kept: and why, or gone if there is no such copy. Its object is queued for deletion, due in a minute. RP006 outside read committed.';
revoke all on function reaper.remove_copy(text, text, text, text[], text[]) from public;
grant execute on function reaper.remove_copy(text, text, text, text[], text[]) to reaper_worker, reaper_ops;
