-- fresh_key: a name that no object ever had. S3 cannot check a token, so the fence is in the name: a late deletion can only
-- hit what nobody uses any more. Random, not counted: a failover may hand out the numbers of a sequence again.
create or replace function reaper_internal.fresh_key(p_content_hash text)
    returns text
    language sql volatile
as $$
    select left(p_content_hash, 2) || '/' || p_content_hash || '/' || replace(gen_random_uuid()::text, '-', '');
$$;
comment on function reaper_internal.fresh_key(text) is
    'An object key that nobody else has, <hash[:2]>/<hash>/<32 random digits>.';
revoke all on function reaper_internal.fresh_key(text) from public;
