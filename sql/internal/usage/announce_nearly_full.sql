-- announce_nearly_full: record that a quota or limit is nearly used up, and tell it, once per crossing: of callers at the same time one inserts the row.
create or replace function reaper_internal.announce_nearly_full(p_backend text, p_what text, p_used numeric, p_amount bigint, p_now timestamptz)
    returns boolean
    language plpgsql volatile
as $$
begin
    insert into reaper.nearly_full (backend, what, since, used, amount)
    values (p_backend, p_what, p_now, p_used, p_amount)
        on conflict do nothing;
    if not found then
        return false;
    end if;
    perform reaper_internal.emit_nearly_full(p_backend, p_what, p_used, p_amount);
    return true;
end;
$$;
comment on function reaper_internal.announce_nearly_full(text, text, numeric, bigint, timestamptz) is
    'For record_nearly_full: records the crossing of settings.near_limit; false if it is recorded already.';
revoke all on function reaper_internal.announce_nearly_full(text, text, numeric, bigint, timestamptz) from public;
