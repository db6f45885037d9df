-- copies_to_scrub: all copies of one content, in trouble or not, with what is to be compared; for a look at it now.
create or replace function reaper.copies_to_scrub(p_content_hash text)
    returns table (backend text, content_hash text, object_key text, size_bytes bigint, sha256 boolean, size_is_ours boolean, trouble text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    select k.backend, p_content_hash, k.object_key, k.size_bytes, reaper_internal.is_digest(p_content_hash),
           starts_with(k.object_key, left(p_content_hash, 2) || '/' || p_content_hash || '/'),
           (select l.trouble from reaper.object_locations l
             where l.content_hash = p_content_hash collate "C" and l.backend = k.backend and l.object_key = k.object_key)
      from reaper.copies_of(p_content_hash) as k;
$$;
comment on function reaper.copies_to_scrub(text) is
    'All copies of a content with what the bytes are to be compared with; no row if the content does not exist.';
revoke all on function reaper.copies_to_scrub(text) from public;
grant execute on function reaper.copies_to_scrub(text) to reaper_worker, reaper_ops, reaper_ro;
