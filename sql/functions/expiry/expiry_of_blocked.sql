-- expiry_of_blocked: when the pastes in reaper.blocked expired; for the view blocked_rows.
create or replace function reaper.expiry_of_blocked()
    returns table (short_code text, expires_at timestamptz)
    language plpgsql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
#variable_conflict use_column
begin
    return query
        select b.short_code, p.expires_at
          from reaper.blocked b
          join reaper.pastes p on p.short_code = b.short_code;
end;
$$;
comment on function reaper.expiry_of_blocked() is
    'Code and expiry of the pastes in reaper.blocked that still exist; read it through the view reaper.blocked_rows.';
revoke all on function reaper.expiry_of_blocked() from public;
grant execute on function reaper.expiry_of_blocked() to reaper_worker, reaper_ops, reaper_ro;
