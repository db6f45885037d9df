-- choose_place: of the locked backends, the one for so many bytes: one whose own copy is bad, else the one with the most room; among
-- those without a quota the contents are spread by their hash. Null if none has room. An unknown size counts as nothing; commit_copy books what it is.
-- After a failed attempt any of them, another one in time: a backend may refuse what it has room for, such as one that is full without a quota.
create or replace function reaper_internal.choose_place(
    p_names         text[],
    p_rooms         numeric[],
    p_taken         text[],
    p_bad           text[],
    p_size_bytes    bigint,
    p_content_hash  text,
    p_attempts      integer
)
    returns text
    language sql immutable
as $$
    select n.name
      from unnest(p_names, p_rooms) as n (name, room)
     where n.name <> all (p_taken) and coalesce(n.room >= coalesce(p_size_bytes, 0), true)
     order by case when p_attempts > 0 then hashtextextended(n.name || p_content_hash, p_attempts) end, n.name = any (p_bad) desc,
              n.room desc nulls first, hashtextextended(n.name || p_content_hash, 0), n.name
     limit 1;
$$;
comment on function reaper_internal.choose_place(text[], numeric[], text[], text[], bigint, text, integer) is
    'For claim_copies: the backend that gets a copy of so many bytes, of those with room that are not taken; null if there is none.';
revoke all on function reaper_internal.choose_place(text[], numeric[], text[], text[], bigint, text, integer) from public;
