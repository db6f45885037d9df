-- renew_installation: give this database a new identity. A copy of the disks has the identity, the name and the system identifier of the
-- original, so nothing else tells the two apart; with a new identity the markers in the buckets no longer match.
create or replace function reaper.renew_installation(p_reason text)
    returns uuid
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_former    uuid := (select i.installation_id from reaper.installation i);
    v_identity  record;
begin
    perform reaper_internal.commit_durably();
    perform reaper_internal.require_reason(p_reason);
    v_identity := reaper_internal.record_installation(gen_random_uuid());
    perform reaper_internal.record_audit('renew_installation', v_identity.installation_id::text, p_reason,
                                         format('from installation %s', coalesce(v_former::text, 'none')));
    return v_identity.installation_id;
end;
$$;
comment on function reaper.renew_installation(text) is
    'Gives this database a new installation id, and returns it. Call it first on a clone of the disks, before any worker starts there: '
    'the clone then deletes and stores nothing in the buckets of the original. A reason is required. Audited.';
revoke all on function reaper.renew_installation(text) from public;
grant execute on function reaper.renew_installation(text) to reaper_ops;
