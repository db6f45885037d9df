-- report_copy: say what was found under a copy's key: it is missing or corrupt, or it is good. Fenced by the key: a report about an object that
-- was replaced meanwhile changes nothing. A bad copy is not read first, does not count, and makes the content want another one; nothing is deleted.
create or replace function reaper.report_copy(p_content_hash text, p_backend text, p_object_key text, p_trouble text, p_detail text default null)
    returns text
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_now    timestamptz := reaper.clock();
    v_copy   reaper.object_locations;
begin
    perform reaper_internal.require_read_committed();
    lock table reaper.bindings in access share mode;
    -- A reader does not know what the hash is of: where that is not known here either, other bytes are no trouble.
    if p_trouble = 'differs' then
        if not reaper_internal.is_digest(p_content_hash) then
            return 'unknown_digest';
        end if;
        p_trouble := 'corrupt';
    end if;
    if p_trouble not in ('missing', 'corrupt') then
        raise exception sqlstate 'RP005' using
            message = format('invalid trouble: %L', p_trouble),
            hint    = 'Give missing, corrupt, differs (the SHA-256 is not the hash), or null if the copy is good.';
    end if;
    perform from reaper.content c where c.content_hash = p_content_hash for no key update;
    if not found then
        return 'gone';
    end if;
    perform from reaper.copies_of(p_content_hash) as k where k.backend = p_backend and k.object_key = p_object_key;
    if not found then
        return 'gone';
    end if;
    -- The application's own object: written down to say what is wrong with it; a good one of unknown size is written down when its bytes are read.
    if p_trouble is null and not exists (select from reaper.object_locations l where l.content_hash = p_content_hash)
       and (select coalesce(c.size_bytes, 0) = 0 from reaper.content c where c.content_hash = p_content_hash)
    then
        return 'known';
    end if;
    perform reaper_internal.record_implicit_copy(p_content_hash, null, v_now);
    select * into v_copy from reaper.object_locations l where l.content_hash = p_content_hash and l.backend = p_backend and l.object_key = p_object_key;
    update reaper.object_locations l
       set verified_at = case when p_trouble is null then v_now else l.verified_at end,
           trouble     = p_trouble,
           trouble_at  = case when p_trouble is null then null when l.trouble = p_trouble then l.trouble_at else v_now end
     where l.content_hash = p_content_hash and l.backend = p_backend and l.object_key = p_object_key;
    if v_copy.trouble is distinct from p_trouble then
        perform reaper_internal.sync_needs(array[p_content_hash], v_now);
        update reaper.copy_wants w
           set last_error = left(format('%s on %s: %s', p_object_key, p_backend, coalesce(p_detail, p_trouble)), 1000)
         where w.content_hash = p_content_hash and p_trouble is not null;
        if p_trouble is not null then
            perform reaper_internal.emit_trouble(v_copy, p_trouble, p_detail, v_now);
        end if;
    end if;
    return case when v_copy.trouble is not distinct from p_trouble then 'known' when p_trouble is null then 'good' else 'recorded' end;
end;
$$;
comment on function reaper.report_copy(text, text, text, text, text) is
    'Records that the copy of a content under this key is missing or corrupt, or good (p_trouble null: it was just verified). Returns recorded, good, known (as before) or gone (no such copy any more). differs (the SHA-256 of the bytes is not the hash) means corrupt where settings.content_digest says so, else unknown_digest is returned. Nothing is deleted; the replicator makes another copy where it can. RP005 for another p_trouble.';
revoke all on function reaper.report_copy(text, text, text, text, text) from public;
grant execute on function reaper.report_copy(text, text, text, text, text) to reaper_worker, reaper_app, reaper_ops;
