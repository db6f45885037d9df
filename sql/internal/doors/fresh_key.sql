-- fresh_key: a key that no object ever had. S3 cannot check a fencing token, so the fence is in the key: a late deletion can only hit an
-- object that is no longer in use. Random, not counted: after a failover a sequence may return the same numbers again.
create or replace function reaper_internal.fresh_key(p_content_hash text)
    returns text
    language sql volatile
as $$
    select left(p_content_hash, 2) || '/' || p_content_hash || '/' || replace(gen_random_uuid()::text, '-', '');
$$;
comment on function reaper_internal.fresh_key(text) is
    'A unique object key, <hash[:2]>/<hash>/<32 random digits>.';
revoke all on function reaper_internal.fresh_key(text) from public;
