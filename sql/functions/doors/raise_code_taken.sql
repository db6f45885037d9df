-- raise_code_taken: the same words for a taken code, whether it is found before the upload or at the commit.
create or replace function reaper.raise_code_taken(p_short_code text)
    returns void
    language plpgsql immutable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    raise exception unique_violation using
        message = format('short_code %s is taken', p_short_code),
        hint    = 'Choose another code; an expired paste keeps its own until it is collected.';
end;
$$;
comment on function reaper.raise_code_taken(text) is
    'Internal: raises 23505 with the code.';
revoke all on function reaper.raise_code_taken(text) from public;
