-- known_size: the size of a content where it is known: from its copies, else from its row, in which 0 means that none was recorded.
create or replace function reaper_internal.known_size(p_content_hash text)
    returns bigint
    language sql stable
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    select coalesce((select max(o.size_bytes) from reaper.object_locations o where o.content_hash = p_content_hash collate "C"),
                    (select nullif(c.size_bytes, 0) from reaper.content c where c.content_hash = p_content_hash));
$$;
comment on function reaper_internal.known_size(text) is
    'Size of a content in bytes; null if neither a copy nor its row says it.';
revoke all on function reaper_internal.known_size(text) from public;
