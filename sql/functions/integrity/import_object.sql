-- import_object: take an untracked object in, whose bytes were read and have the SHA-256 that its key names: as a copy, if the content lives
-- and has none on this backend, else as new content with ref_count 0, which the service unreferenced collects unless a put uses it.
create or replace function reaper.import_object(p_backend text, p_object_key text, p_content_hash text, p_size_bytes bigint)
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
    v_size     bigint;
begin
    perform reaper_internal.require_read_committed();
    lock table reaper.bindings in access share mode;
    if not reaper_internal.is_digest(p_content_hash) or (select b.key_expression is not null from reaper.bindings b where b.name = 'content') then
        return 'refused';
    end if;
    perform from reaper.sightings s
      where s.backend = p_backend and s.object_key = p_object_key and s.size_bytes = p_size_bytes and s.retired_at is null
        and s.first_seen <= v_now - interval '1 day' and s.last_seen >= s.first_seen + interval '1 day'
        for update;
    if not found then
        return 'gone';
    end if;
    insert into reaper.content (content_hash, object_key, ref_count, size_bytes, created_at)
    values (p_content_hash, p_object_key, 0, p_size_bytes, v_now)
        on conflict do nothing;
    if found then
        v_size := p_size_bytes;
    else
        select coalesce(c.size_bytes, 0) into v_size from reaper.content c where c.content_hash = p_content_hash for no key update;
        if not found then
            return 'refused';  -- another content has the key
        end if;
        perform reaper_internal.record_implicit_copy(p_content_hash, null, v_now);
    end if;
    -- After the locks, in a new statement: a row that names the object by now keeps it.
    if v_size <> p_size_bytes
       or exists (select from reaper.object_locations l where l.content_hash = p_content_hash and l.backend = p_backend)
       or exists (select from reaper.known_objects(p_backend, array[p_object_key]) as o where o.content_hash is distinct from p_content_hash or o.place <> 'content')
    then
        return 'refused';
    end if;
    if reaper_internal.add_copies(array[p_content_hash], array[p_backend], array[p_object_key], array[p_size_bytes], array[v_now], v_now) = 0 then
        return 'refused';
    end if;
    perform reaper_internal.add_bytes(p_backend, p_used => p_size_bytes);
    delete from reaper.sightings s where s.backend = p_backend and s.object_key = p_object_key;
    return 'imported';
end;
$$;
comment on function reaper.import_object(text, text, text, bigint) is
    'Takes an untracked object in whose bytes were found to have this SHA-256 and size: as a copy of living content that has none on the backend, else as new content without references. '
    'Returns imported, refused (it does not fit; it stays untracked) or gone (it is no longer untracked, or not for a day). RP004 while its name is retired, RP006 outside read committed.';
revoke all on function reaper.import_object(text, text, text, bigint) from public;
grant execute on function reaper.import_object(text, text, text, bigint) to reaper_worker, reaper_ops;
