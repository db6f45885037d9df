-- get_paste: where to read a paste. One that has expired is unreadable from that instant on, whether or not its row is still there.
create or replace function reaper.get_paste(p_short_code text)
    returns table (content_hash text, backend text, object_key text, size_bytes bigint, expires_at timestamptz)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    select p.content_hash, c.backend, c.object_key, c.size_bytes, p.expires_at
      from public.pastes p
     -- The sorting of an adopted column must not meet that of ours.
     cross join lateral (select * from reaper.copies_of(p.content_hash collate "default") limit 1) as c
     where p.short_code = p_short_code
       and (p.expires_at is null or p.expires_at > reaper.clock());
$$;
comment on function reaper.get_paste(text) is
    'The content of a paste and the best place to read it from; nothing when it does not exist or has expired. Other places: copies_of.';
revoke all on function reaper.get_paste(text) from public;
grant execute on function reaper.get_paste(text) to reaper_worker, reaper_app, reaper_ops, reaper_ro;
