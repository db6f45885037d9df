-- add_copies: the only place where location rows are made. The caller holds the contents' rows, or has made them, so no release of a content
-- can miss its row; the bytes are booked by the caller.
create or replace function reaper_internal.add_copies(
    p_hashes       text[],
    p_backends     text[],
    p_keys         text[],
    p_sizes        bigint[],
    p_verified_at  timestamptz[],
    p_now          timestamptz
)
    returns integer
    language plpgsql volatile
as $$
declare
    v_made integer;
begin
    insert into reaper.object_locations (content_hash, backend, object_key, size_bytes, created_at, verified_at)
    select n.content_hash, n.backend, n.object_key, n.size_bytes, p_now, n.verified_at
      from unnest(p_hashes, p_backends, p_keys, p_sizes, p_verified_at) as n (content_hash, backend, object_key, size_bytes, verified_at)
        -- An adopted table may name one object twice: then the other content has the row.
        on conflict do nothing;
    get diagnostics v_made = row_count;
    return v_made;
end;
$$;
comment on function reaper_internal.add_copies(text[], text[], text[], bigint[], timestamptz[], timestamptz) is
    'Records copies of contents whose rows the caller holds, given as arrays of the same order; returns how many. None where the backend has one of the content, or the key is another content''s.';
revoke all on function reaper_internal.add_copies(text[], text[], text[], bigint[], timestamptz[], timestamptz) from public;
