-- insert_copy: the only place where a location row is made. The caller holds the content's row, or has made it, so no release of the content
-- can miss the row; the bytes are booked by the caller.
create or replace function reaper_internal.insert_copy(
    p_content_hash  text,
    p_backend       text,
    p_object_key    text,
    p_size_bytes    bigint,
    p_verified_at   timestamptz,
    p_now           timestamptz
)
    returns boolean
    language plpgsql volatile
as $$
begin
    insert into reaper.object_locations (content_hash, backend, object_key, size_bytes, created_at, verified_at)
    values (p_content_hash, p_backend, p_object_key, p_size_bytes, p_now, p_verified_at)
        -- An adopted table may name one object twice: then the other content has the row.
        on conflict do nothing;
    return found;
end;
$$;
comment on function reaper_internal.insert_copy(text, text, text, bigint, timestamptz, timestamptz) is
    'Records a copy of a content whose row the caller holds; false if the backend has one of it, or the key is another content''s.';
revoke all on function reaper_internal.insert_copy(text, text, text, bigint, timestamptz, timestamptz) from public;
