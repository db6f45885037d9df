-- statuses_of: the part of a batch's other_statuses that concerns these rows; null if none does, which is the usual case.
create or replace function reaper_internal.statuses_of(p_statuses jsonb, p_codes text[])
    returns jsonb
    language plpgsql stable
as $$
begin
    if p_statuses is null then
        return null;
    end if;
    return (select jsonb_object_agg(s.code, s.status) from jsonb_each(p_statuses) as s (code, status) where s.code = any (p_codes));
end;
$$;
comment on function reaper_internal.statuses_of(jsonb, text[]) is
    'Entries of batches.other_statuses whose codes are in p_codes; null if there is none.';
revoke all on function reaper_internal.statuses_of(jsonb, text[]) from public;
