-- emit_trouble: tell that a copy is missing or corrupt, in the transaction that records it, with the number of good copies that are left. The caller
-- holds the content's row, so no other copy comes or goes meanwhile.
create or replace function reaper_internal.emit_trouble(p_copy reaper.object_locations, p_trouble text, p_detail text, p_now timestamptz)
    returns void
    language plpgsql volatile
as $$
begin
    if not reaper_internal.is_subscribed('copy.' || p_trouble) then
        return;
    end if;
    perform reaper_internal.emit('copy.' || p_trouble, p_copy.content_hash, jsonb_strip_nulls(jsonb_build_object('detail', left(p_detail, 1000)))
                || jsonb_build_object('content_hash', p_copy.content_hash, 'backend', p_copy.backend, 'object_key', p_copy.object_key,
                                      'size_bytes', case when p_copy.size_bytes > 0 or c.size_bytes is not null then p_copy.size_bytes end,
                                      'good_copies', n.good))
       from reaper.content c
      cross join reaper_internal.copy_needs(array[p_copy.content_hash], p_now) as n
      where c.content_hash = p_copy.content_hash;
end;
$$;
comment on function reaper_internal.emit_trouble(reaper.object_locations, text, text, timestamptz) is
    'For report_copy: emits copy.missing or copy.corrupt for a copy whose trouble has just been recorded.';
revoke all on function reaper_internal.emit_trouble(reaper.object_locations, text, text, timestamptz) from public;
