-- require_table_owner: only the owner of a table may say which of its columns reaper reads: bound to another column, live pastes would be due.
create or replace function reaper_internal.require_table_owner(p_name text)
    returns void
    language plpgsql stable
as $$
declare
    v_table regclass := (select reaper_internal.bound_oid(b.bound_table) from reaper.bindings b where b.name = p_name);
begin
    if not coalesce((select pg_has_role(session_user, c.relowner, 'USAGE') from pg_catalog.pg_class c where c.oid = v_table), true) then
        raise exception insufficient_privilege using
            message = format('only the owner of %s may bind its columns', v_table),
            hint    = 'Call reaper.bind(…) as that role, or change reaper.toml and run reaper migrate.';
    end if;
end;
$$;
comment on function reaper_internal.require_table_owner(text) is
    'For bind: 42501 unless the login has the rights of the owner of the table that is bound as p_name.';
revoke all on function reaper_internal.require_table_owner(text) from public;
