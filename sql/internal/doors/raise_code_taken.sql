-- raise_code_taken: one message for a taken code, whether it is found before the upload or at the commit.
create or replace function reaper_internal.raise_code_taken(p_short_code text)
    returns void
    language plpgsql immutable
as $$
begin
    raise exception unique_violation using
        message = format('short_code %s is taken', p_short_code),
        hint    = 'Choose another code; the code of an expired paste is taken until a drain deletes the paste.';
end;
$$;
comment on function reaper_internal.raise_code_taken(text) is
    'Raises 23505: the short code is taken.';
revoke all on function reaper_internal.raise_code_taken(text) from public;
