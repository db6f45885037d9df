-- is_digest: is this hash the SHA-256 of the stored bytes? Only where settings.content_digest says so: 64 digits may be another hash, or one
-- of bytes before they were encrypted.
create or replace function reaper_internal.is_digest(p_content_hash text)
    returns boolean
    language sql stable
as $$
    select s.content_digest = 'sha256' and p_content_hash ~ '^[0-9A-Fa-f]{64}$' from reaper.settings s;
$$;
comment on function reaper_internal.is_digest(text) is
    'Whether a content_hash is to be compared with the SHA-256 of the bytes.';
revoke all on function reaper_internal.is_digest(text) from public;
