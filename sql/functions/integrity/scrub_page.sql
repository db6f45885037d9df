-- scrub_page: the next copies of a backend in the order of their keys, and whether each is to be read now. The scrubber goes round: each round
-- reads every copy once, so the next is the one that it has not read for the longest time. Copies in trouble, and those of which a second look
-- is not due yet, are left out.
create or replace function reaper.scrub_page(p_backend text, p_after text default '', p_limit integer default 500)
    returns table (content_hash text, object_key text, size_bytes bigint, sha256 boolean, size_is_ours boolean, is_due boolean)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_sort = off
    set jit = off
as $$
    select l.content_hash, l.object_key, l.size_bytes, s.content_digest = 'sha256' and l.content_hash ~ '^[0-9A-Fa-f]{64}$',
           starts_with(l.object_key, left(l.content_hash, 2) || '/' || l.content_hash || '/'),
           l.trouble is null and coalesce(l.verified_at <= reaper.clock() - s.scrub_every, true)
           and not exists (select from reaper.suspects u where u.backend = l.backend and u.object_key = l.object_key and u.next_attempt > reaper.clock())
      from reaper.object_locations l
     cross join reaper.settings s
     where l.backend = p_backend and l.object_key > p_after
     order by l.object_key
     limit p_limit;
$$;
comment on function reaper.scrub_page(text, text, integer) is
    'The next p_limit copies of a backend after this key; sha256: content_hash is to be compared with the bytes; size_is_ours: the size was counted when reaper stored the object; is_due: not verified within settings.scrub_every. Fewer rows than p_limit = the end of the round.';
revoke all on function reaper.scrub_page(text, text, integer) from public;
grant execute on function reaper.scrub_page(text, text, integer) to reaper_worker, reaper_ops, reaper_ro;
