-- live_pastes: how many readable pastes each content has, and some of their codes.
create or replace function reaper.live_pastes(p_hashes text[], p_examples integer default 5)
    returns table (content_hash text, pastes bigint, examples text[])
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select h.content_hash,
           (select count(*)
              from reaper.pastes p
             where p.content_hash = h.content_hash and (p.expires_at is null or p.expires_at > reaper.clock())),
           array(select p.short_code::text
                   from reaper.pastes p
                  where p.content_hash = h.content_hash and (p.expires_at is null or p.expires_at > reaper.clock())
                  order by p.short_code
                  limit p_examples)
      from unnest(p_hashes) as h (content_hash);
$$;
comment on function reaper.live_pastes(text[], integer) is
    'For each content hash: the number of its pastes that can be read, and the codes of the first p_examples.';
revoke all on function reaper.live_pastes(text[], integer) from public;
grant execute on function reaper.live_pastes(text[], integer) to reaper_worker, reaper_ops, reaper_ro;
