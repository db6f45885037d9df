-- require_put: refuse what could never be committed before its bytes are uploaded.
create or replace function reaper_internal.require_put(p_short_code text, p_content_hash text, p_size_bytes bigint)
    returns void
    language plpgsql stable
as $$
declare
    v_code  integer := least(512, reaper_internal.column_limit('pastes', 'short_code'));
    v_hash  integer := least(512, reaper_internal.column_limit('pastes', 'content_hash'), reaper_internal.column_limit('content', 'content_hash'));
    v_key   integer := reaper_internal.column_limit('content', 'object_key');
begin
    if p_short_code is null or char_length(p_short_code) not between 1 and v_code then
        raise exception sqlstate 'RP005' using
            message = format('invalid short_code: %s characters', coalesce(char_length(p_short_code), 0)),
            hint    = format('Give a short_code of 1 to %s characters.', v_code);
    end if;
    -- The hash is part of the object's name, and S3 counts bytes.
    if p_content_hash is null or octet_length(p_content_hash) not between 1 and v_hash then
        raise exception sqlstate 'RP005' using
            message = format('invalid content_hash: %s bytes', coalesce(octet_length(p_content_hash), 0)),
            hint    = format('Give a content_hash of 1 to %s bytes, such as the SHA-256 of the content in hexadecimal digits.', v_hash);
    end if;
    if p_size_bytes is null or p_size_bytes not between 0 and 1125899906842624 then
        raise exception sqlstate 'RP005' using
            message = format('invalid size_bytes: %s', coalesce(p_size_bytes::text, 'null')),
            hint    = 'Give the number of bytes that will be uploaded, from 0 to 1125899906842624 (1 PiB).';
    end if;
    if char_length(p_content_hash) + 36 > v_key then  -- as fresh_key makes them
        raise exception sqlstate 'RP005' using
            message = format('%s.%s takes %s characters, too few for a key with this content_hash',
                             reaper_internal.base_table('content'), reaper_internal.base_column('content', 'object_key'), v_key),
            hint    = format('begin; select reaper.unbind(); alter table %s alter column %I type text; select reaper.bind(); commit;',
                             reaper_internal.base_table('content'), reaper_internal.base_column('content', 'object_key'));
    end if;
end;
$$;
comment on function reaper_internal.require_put(text, text, bigint) is
    'For begin_put: raises RP005 for a code, a hash or a size that could not be stored.';
revoke all on function reaper_internal.require_put(text, text, bigint) from public;
