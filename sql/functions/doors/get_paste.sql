-- get_paste: where to read a paste. An expired paste is unreadable from that instant on, whether or not its row still exists.
create or replace function reaper.get_paste(p_short_code text)
    returns table (content_hash text, backend text, object_key text, size_bytes bigint, expires_at timestamptz)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    select p.content_hash, c.backend, c.object_key, c.size_bytes, p.expires_at
      from reaper.pastes p
     -- The collation of an adopted column must not be mixed with ours.
     cross join lateral (select * from reaper.copies_of(p.content_hash collate "default") limit 1) as c
     where p.short_code = p_short_code
       and (p.expires_at is null or p.expires_at > reaper.clock());
$$;
comment on function reaper.get_paste(text) is
    'The content of a paste and the best copy to read; no row if the paste does not exist or has expired. Further copies: copies_of.';
revoke all on function reaper.get_paste(text) from public;
grant execute on function reaper.get_paste(text) to reaper_worker, reaper_app, reaper_ops, reaper_ro;
