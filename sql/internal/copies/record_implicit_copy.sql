-- record_implicit_copy: write down the copy of a content that has no location row: the application's own object on backend default. From then
-- on the release path knows it beside the others. The size is that of the content row, which gets p_size_bytes where it has none. The hash may
-- come from a table of ours, with its collation; as a column of default collation it leaves the decision to the content's own.
create or replace function reaper_internal.record_implicit_copy(p_content_hash text, p_size_bytes bigint, p_now timestamptz)
    returns boolean
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_content record;
begin
    if exists (select from reaper.object_locations l where l.content_hash = p_content_hash) then
        return false;
    end if;
    select coalesce(c.object_key, c.content_hash) as object_key, coalesce(c.size_bytes, 0) as size_bytes
      into v_content
      from reaper.content c where c.content_hash = (select p_content_hash collate "default");
    if v_content.size_bytes = 0 and p_size_bytes > 0 then
        update reaper.content c set size_bytes = p_size_bytes where c.content_hash = (select p_content_hash collate "default");
        v_content.size_bytes := p_size_bytes;
    end if;
    if reaper_internal.add_copies(array[p_content_hash], '{default}', array[v_content.object_key::text], array[v_content.size_bytes::bigint],
                                     array[null::timestamptz], p_now) = 1 then
        perform reaper_internal.add_bytes('default', p_used => v_content.size_bytes);
    end if;
    return true;
end;
$$;
comment on function reaper_internal.record_implicit_copy(text, bigint, timestamptz) is
    'Makes the location row of an object that the application stored itself, if its content, whose row the caller holds, has none; true if it had none.';
revoke all on function reaper_internal.record_implicit_copy(text, bigint, timestamptz) from public;
