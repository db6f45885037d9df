-- keys_to_look_for: of contents at these addresses, those whose object was not stored by reaper, live ones first.
-- A hundred pastes of a content are looked at: of content that a million expired pastes name, the rest is not read.
create or replace function reaper_internal.keys_to_look_for(p_places tid[], p_limit integer)
    returns table (content_hash text, backend text, object_key text, size_bytes bigint)
    language sql stable
as $$
    select c.content_hash::text, 'default', coalesce(c.object_key, c.content_hash)::text, c.size_bytes::bigint
      from reaper.content c
     where c.place = any (p_places)
       and not exists (select from reaper.object_locations l where l.content_hash = c.content_hash collate "C")
     order by exists (select from (select p.expires_at from reaper.pastes p where p.content_hash = c.content_hash limit 100) as first
                       where first.expires_at is null or first.expires_at > reaper.clock()) desc,
              random()
     limit p_limit;
$$;
comment on function reaper_internal.keys_to_look_for(tid[], integer) is
    'For sample_keys: object keys of the contents at these addresses that have no row in object_locations.';
revoke all on function reaper_internal.keys_to_look_for(tid[], integer) from public;
