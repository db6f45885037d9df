-- replace_bad_copy: a bad copy makes room for a new one on the same backend. The caller holds the content's row and stores the new copy in the
-- same transaction.
create or replace function reaper_internal.replace_bad_copy(p_content_hash text, p_backend text, p_new_key text, p_size_bytes bigint, p_now timestamptz)
    returns boolean
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_copy reaper.object_locations;
begin
    select * into v_copy
      from reaper.object_locations l
     where l.content_hash = p_content_hash and l.backend = p_backend and l.trouble is not null;
    if not found then
        return false;
    end if;
    perform reaper_internal.set_content_key(p_content_hash, v_copy.object_key, p_new_key);
    perform reaper_internal.emit_repaired(p_content_hash, p_backend, p_new_key, p_size_bytes, v_copy);
    return reaper_internal.delete_copy(p_content_hash, p_backend, v_copy.object_key, p_now);
end;
$$;
comment on function reaper_internal.replace_bad_copy(text, text, text, bigint, timestamptz) is
    'For replace_copies and the doors: removes the bad copy of a locked content from a backend that is about to have a good one; true if there was one.';
revoke all on function reaper_internal.replace_bad_copy(text, text, text, bigint, timestamptz) from public;
