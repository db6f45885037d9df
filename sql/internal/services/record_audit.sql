-- record_audit: record who did what, and why. session_user, because inside a definer function current_user is the owner.
create or replace function reaper_internal.record_audit(p_action text, p_subject text, p_reason text, p_detail text default null)
    returns void
    language sql volatile
as $$
    insert into reaper.audit (at, who, action, subject, reason, detail)
    values (reaper.clock(), session_user, p_action, p_subject, nullif(p_reason, ''), p_detail);
$$;
comment on function reaper_internal.record_audit(text, text, text, text) is
    'Inserts a row into reaper.audit with the login of the caller.';
revoke all on function reaper_internal.record_audit(text, text, text, text) from public;
