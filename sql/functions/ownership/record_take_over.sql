-- record_take_over: record that an operator makes this database the owner of a backend's bucket; the caller then writes the marker.
-- Recorded first, so that no bucket changes hands without a trace. The identity is recorded anew: a database that was moved is at home.
create or replace function reaper.record_take_over(p_backend text, p_former_owner text, p_reason text)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_identity record;
begin
    perform reaper_internal.commit_durably();
    perform reaper_internal.lock_backend(p_backend);
    perform reaper_internal.require_reason(p_reason);
    v_identity := reaper_internal.record_installation(null);
    perform reaper_internal.record_audit('record_take_over', p_backend, p_reason,
                                         format('from %s to installation %s, database %s, system %s',
                                                coalesce(nullif(p_former_owner, ''), 'no owner'), v_identity.installation_id,
                                                v_identity.database, v_identity.system_identifier));
end;
$$;
comment on function reaper.record_take_over(text, text, text) is
    'First half of reaper backend take-over: records the identity of this database anew and audits who owned the bucket before. '
    'The bucket changes hands when its marker is written, which the command does next. A reason is required.';
revoke all on function reaper.record_take_over(text, text, text) from public;
grant execute on function reaper.record_take_over(text, text, text) to reaper_ops;
