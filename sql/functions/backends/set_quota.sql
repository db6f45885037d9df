-- set_quota: limit the bytes on a backend. A quota below what is stored is allowed: no new bytes are accepted until they fit again.
create or replace function reaper.set_quota(p_name text, p_quota bigint, p_reason text)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_before reaper.backend_list := reaper_internal.lock_backend(p_name);
begin
    perform reaper_internal.require_quota(p_quota);
    perform reaper_internal.require_reason(p_reason);
    update reaper.backend_list b set quota = p_quota where b.name = p_name;
    perform reaper_internal.record_audit('set_quota', p_name, p_reason,
                                format('from %s to %s', coalesce(v_before.quota::text, 'no quota'), coalesce(p_quota::text, 'no quota')));
end;
$$;
comment on function reaper.set_quota(text, bigint, text) is
    'Limits the bytes on a backend, orphans and reservations included; null removes the limit. A reason is required. Audited; from then on the quota of the configuration is ignored.';
revoke all on function reaper.set_quota(text, bigint, text) from public;
grant execute on function reaper.set_quota(text, bigint, text) to reaper_ops;
