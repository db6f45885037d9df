-- names_in_use: which of these objects does live content still use? An adopted table may hold a name twice, once as an object_key and once as
-- a bare hash; the object is deleted with the last of them. Content with location rows is stored there, all other content on backend
-- default. What cannot be is not looked up: without location rows no copy has one, without object keys no content is stored under one, and
-- the hash of a content whose row this transaction has deleted is no other content's.
create or replace function reaper_internal.names_in_use(p_hashes text[], p_backends text[], p_keys text[])
    returns text[]
    language plpgsql stable
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_hashjoin = off
    set enable_mergejoin = off
    set jit = off
as $$
declare
    v_used text[] := '{}';
begin
    if exists (select from reaper.object_locations) then
        v_used := array(select l.backend || '/' || l.object_key
                          from unnest(p_backends, p_keys) as n (backend, object_key)
                          join reaper.object_locations l on l.backend = n.backend and l.object_key = n.object_key);
    end if;
    if exists (select from reaper.content c where c.object_key is not null) then
        v_used := v_used || array(
            select 'default/' || c.object_key collate "C"
              from reaper.content c
             where c.object_key = any (p_keys)
               and not exists (select from reaper.object_locations l where l.content_hash = c.content_hash collate "C"));
    end if;
    if p_keys <> p_hashes then
        v_used := v_used || array(
            select 'default/' || c.content_hash collate "C"
              from reaper.content c
             where c.content_hash = any (p_keys) and c.object_key is null
               and not exists (select from reaper.object_locations l where l.content_hash = c.content_hash collate "C"));
    end if;
    return v_used;
end;
$$;
comment on function reaper_internal.names_in_use(text[], text[], text[]) is
    'For release_objects: those of the objects of deleted contents that other content still uses, as backend/key.';
revoke all on function reaper_internal.names_in_use(text[], text[], text[]) from public;
