-- names_in_use: which of these objects does live content still use? An adopted table may hold a name twice, once as an object_key and once as
-- a bare hash; the object is deleted with the last of them. Content with location rows is stored there, all other content on backend
-- default.
create or replace function reaper_internal.names_in_use(p_backends text[], p_keys text[])
    returns text[]
    language sql stable
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_hashjoin = off
    set enable_mergejoin = off
as $$
    select array(
        select l.backend || '/' || l.object_key
          from unnest(p_backends, p_keys) as n (backend, object_key)
          join reaper.object_locations l on l.backend = n.backend and l.object_key = n.object_key
        union
        select 'default/' || c.object_key collate "C"
          from reaper.content c
         where c.object_key = any (p_keys)
           and not exists (select from reaper.object_locations l where l.content_hash = c.content_hash collate "C")
        union
        select 'default/' || c.content_hash collate "C"
          from reaper.content c
         where c.content_hash = any (p_keys) and c.object_key is null
           and not exists (select from reaper.object_locations l where l.content_hash = c.content_hash collate "C"));
$$;
comment on function reaper_internal.names_in_use(text[], text[]) is
    'Those of the objects that content still uses, as backend/key.';
revoke all on function reaper_internal.names_in_use(text[], text[]) from public;
