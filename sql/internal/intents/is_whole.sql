-- is_whole: is the object that was found the one that was announced? The size is always compared; the hash if it is a SHA-256 in
-- hexadecimal digits. Other hashes only the application can compute.
create or replace function reaper_internal.is_whole(p_intent reaper.put_intents, p_size bigint, p_hash text)
    returns boolean
    language sql immutable
as $$
    select coalesce(p_size = p_intent.size_bytes, false)
       and (p_intent.content_hash !~ '^[0-9A-Fa-f]{64}$' or coalesce(lower(p_hash) = lower(p_intent.content_hash), false));
$$;
comment on function reaper_internal.is_whole(reaper.put_intents, bigint, text) is
    'For finish_intent: whether an object of this size and SHA-256 is the one that the intent announced.';
revoke all on function reaper_internal.is_whole(reaper.put_intents, bigint, text) from public;
