-- expected_objects: the objects that should be stored on a backend, page by page in the byte order of a bucket listing.
-- Three ordered index scans are merged: copies on this backend and, for backend default, content without any copy, under its own key or
-- under its hash. They are read in windows of which each holds at most a page of each index, so reading all pages reads each index a few
-- times at most, however the three are mixed and however few of their entries belong here. Planned anew each time, since only known
-- bounds become bounds of an index scan. Adopted columns with another collation are sorted.
create or replace function reaper.expected_objects(p_after text default '', p_limit integer default 1000, p_backend text default 'default')
    returns table (object_key text, size_bytes bigint, content_hash text)
    language plpgsql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
    set plan_cache_mode = force_custom_plan
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_hashjoin = off
    set enable_mergejoin = off
    set jit = off
as $$
#variable_conflict use_column
declare
    v_after  text    := p_after;
    v_until  text;
    v_left   integer := p_limit;
    v_rows   integer;
begin
    perform reaper_internal.require_limit(p_limit);

    loop
        v_until := least(
            (select l.object_key
               from reaper.object_locations l
              where l.backend = p_backend and l.object_key > v_after
              order by l.object_key
             offset p_limit - 1 limit 1),
            (select c.object_key collate "C"
               from reaper.content c
              where p_backend = 'default' and c.object_key collate "C" > v_after
              order by c.object_key collate "C"
             offset p_limit - 1 limit 1),
            (select c.content_hash collate "C"
               from reaper.content c
              where p_backend = 'default' and c.content_hash collate "C" > v_after
              order by c.content_hash collate "C"
             offset p_limit - 1 limit 1));

        return query
            select k.object_key, k.size_bytes, k.content_hash
              from (select l.object_key, l.size_bytes, l.content_hash
                      from reaper.object_locations l
                     where l.backend = p_backend
                       and l.object_key > v_after and (v_until is null or l.object_key <= v_until)
                    union all
                    select c.object_key::text collate "C", c.size_bytes::bigint, c.content_hash::text collate "C"
                      from reaper.content c
                     where p_backend = 'default'
                       and c.object_key collate "C" > v_after and (v_until is null or c.object_key collate "C" <= v_until)
                       and not exists (select from reaper.object_locations l where l.content_hash = c.content_hash collate "C")
                    union all
                    select c.content_hash::text collate "C", c.size_bytes::bigint, c.content_hash::text collate "C"
                      from reaper.content c
                     where p_backend = 'default' and c.object_key is null
                       and c.content_hash collate "C" > v_after and (v_until is null or c.content_hash collate "C" <= v_until)
                       and not exists (select from reaper.object_locations l where l.content_hash = c.content_hash collate "C")) as k
             order by k.object_key
             limit v_left;
        get diagnostics v_rows = row_count;

        v_left := v_left - v_rows;
        exit when v_until is null or v_left = 0;
        v_after := v_until;
    end loop;
end;
$$;
comment on function reaper.expected_objects(text, integer, text) is
    'The objects that should be stored on a backend, after p_after in byte order: key, size (null = unknown) and content hash. A page with fewer than p_limit rows is the last.';
revoke all on function reaper.expected_objects(text, integer, text) from public;
grant execute on function reaper.expected_objects(text, integer, text) to reaper_worker, reaper_ops, reaper_ro;
