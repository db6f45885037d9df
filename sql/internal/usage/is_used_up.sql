-- is_used_up: whether a monthly limit of a backend is used up; asked for each put and each copy that is read. Where the backend has no limit,
-- that is one look-up by key; in PL/pgSQL, which keeps its plans, so that the statement around it stays as cheap to plan as without it.
create or replace function reaper_internal.is_used_up(p_backend text, p_bytes text)
    returns boolean
    language plpgsql stable
as $$
begin
    if not exists (select from reaper.usage_limits l where l.backend = p_backend and l.amount is not null) then
        return false;
    end if;
    return exists (select from reaper_internal.reached_limits(p_backend, p_bytes));
end;
$$;
comment on function reaper_internal.is_used_up(text, text) is
    'For choose_backend and copies_of: whether the backend has used up its monthly limit of requests or of p_bytes.';
revoke all on function reaper_internal.is_used_up(text, text) from public;
