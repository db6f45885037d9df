-- expected_objects: the objects that content rows name, page by page in the byte order of a bucket listing.
-- Two ordered index scans are merged: rows with a key of their own, and rows whose key is their hash. The first page bounds the
-- second scan, so a walk through all pages reads each index once, whatever the mixture of the two. Adopted columns with
-- another collation are sorted.
create or replace function reaper.expected_objects(p_after text default '', p_limit integer default 1000)
    returns table (object_key text, size_bytes bigint, content_hash text)
    language plpgsql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
#variable_conflict use_column
declare
    v_full  boolean;
    v_last  text;
begin
    perform reaper.require_limit(p_limit);

    select count(*) = p_limit, max(own.object_key)
      into v_full, v_last
      from (select c.object_key collate "C" as object_key
              from public.content c
             where c.object_key collate "C" > p_after
             order by c.object_key collate "C"
             limit p_limit) as own;

    return query
        select k.object_key, k.size_bytes, k.content_hash
          from (select c.object_key::text collate "C" as object_key, c.size_bytes::bigint, c.content_hash::text
                  from public.content c
                 where c.object_key collate "C" > p_after and c.object_key collate "C" <= v_last
                union all
                (select c.content_hash::text collate "C", c.size_bytes::bigint, c.content_hash::text
                   from public.content c
                  where c.object_key is null
                    and c.content_hash collate "C" > p_after
                    and (not v_full or c.content_hash collate "C" <= v_last)
                  order by c.content_hash collate "C"
                  limit p_limit)) as k
         order by k.object_key
         limit p_limit;
end;
$$;
comment on function reaper.expected_objects(text, integer) is
    'The objects that content rows name, after p_after in byte order: their key, size where it is known, and content. A page that is not full is the last.';
revoke all on function reaper.expected_objects(text, integer) from public;
grant execute on function reaper.expected_objects(text, integer) to reaper_worker, reaper_ops, reaper_ro;
