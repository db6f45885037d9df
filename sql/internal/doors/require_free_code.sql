-- require_free_code: refuse most taken codes before the upload; a code taken meanwhile is found by the unique index.
create or replace function reaper_internal.require_free_code(p_short_code text)
    returns void
    language plpgsql stable
as $$
begin
    if exists (select from reaper.pastes p where p.short_code = p_short_code) then
        perform reaper_internal.raise_code_taken(p_short_code);
    end if;
end;
$$;
comment on function reaper_internal.require_free_code(text) is
    'Raises 23505 if a paste has the code.';
revoke all on function reaper_internal.require_free_code(text) from public;
