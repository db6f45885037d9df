-- reusable_names: which of these objects have a key that may be used again. Keys that reaper generates end in 128 random bits and are never
-- used twice; an application's own, such as the bare hash, are used again with the same content.
create or replace function reaper_internal.reusable_names(p_hashes text[], p_backends text[], p_keys text[])
    returns table (content_hash text, backend text, object_key text)
    language sql immutable
as $$
    select o.content_hash, o.backend, o.object_key
      from unnest(p_hashes, p_backends, p_keys) as o (content_hash, backend, object_key)
     where not (starts_with(o.object_key, left(o.content_hash, 2) || '/' || o.content_hash || '/')
                and length(o.object_key) >= length(left(o.content_hash, 2) || o.content_hash) + 34);
$$;
comment on function reaper_internal.reusable_names(text[], text[], text[]) is
    'The objects whose key is not of the form <hash[:2]>/<hash>/<32 random digits>.';
revoke all on function reaper_internal.reusable_names(text[], text[], text[]) from public;
