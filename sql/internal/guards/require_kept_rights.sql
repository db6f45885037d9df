-- require_kept_rights: REVOKE waits for no lock: a right on the bound tables that was lost since require_binding undoes this release,
-- instead of blocking its rows.
create or replace function reaper_internal.require_kept_rights()
    returns void
    language plpgsql stable
as $$
begin
    perform reaper_internal.require_rights('pastes', '{DELETE}');
    perform reaper_internal.require_rights('content', '{UPDATE,DELETE}');
end;
$$;
comment on function reaper_internal.require_kept_rights() is
    'For drops and reaps, at their end: raises RP010 if reaper_owner lost a right on the bound tables meanwhile.';
revoke all on function reaper_internal.require_kept_rights() from public;
