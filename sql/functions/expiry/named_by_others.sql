-- named_by_others: which of these names does a living content row still have? An adopted table may hold a name twice, once as
-- an object_key and once as a bare hash; the object goes with the last of them.
create or replace function reaper.named_by_others(p_keys text[])
    returns text[]
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
as $$
    select array(select c.object_key from public.content c where c.object_key = any (p_keys)
                 union
                 select c.content_hash from public.content c where c.content_hash = any (p_keys) and c.object_key is null);
$$;
comment on function reaper.named_by_others(text[]) is
    'Internal: those of the object keys that a content row has.';
revoke all on function reaper.named_by_others(text[]) from public;
