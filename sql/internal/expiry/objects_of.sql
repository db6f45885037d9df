-- objects_of: the objects of contents, with all their copies. A size of 0 in content means that none was recorded.
create or replace function reaper_internal.objects_of(p_hashes text[])
    returns table (content_hash text, objects bigint, bytes numeric, unsized bigint)
    language sql stable
as $$
    select c.content_hash::text, greatest(l.copies, 1), coalesce(l.bytes, c.size_bytes, 0),
           case when l.copies = 0 and coalesce(c.size_bytes, 0) = 0 then 1 else 0 end::bigint
      from unnest(p_hashes) as h (content_hash)
      join reaper.content c on c.content_hash = h.content_hash
     cross join lateral (select count(*) as copies, sum(o.size_bytes) as bytes
                           from reaper.object_locations o
                          where o.content_hash = c.content_hash collate "C") as l;
$$;
comment on function reaper_internal.objects_of(text[]) is
    'For plan_page and estimate_drain: number and bytes of the objects of contents, and how many have no recorded size.';
revoke all on function reaper_internal.objects_of(text[]) from public;
