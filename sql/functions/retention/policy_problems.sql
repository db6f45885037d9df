-- policy_problems: is the table still the one that was registered, and may its old rows still be deleted?
create or replace function reaper.policy_problems(p_policy text)
    returns table (problem text, fix text)
    language plpgsql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_policy reaper.retention_policies := reaper_internal.require_known_policy(p_policy);
    v_type   text;
begin
    if not exists (select from pg_class c
                     join pg_namespace n on n.oid = c.relnamespace
                    where c.oid = v_policy.table_oid and n.nspname = v_policy.table_schema and c.relname = v_policy.table_name) then
        return query values (format('the registered table %I.%I was dropped, renamed or created again', v_policy.table_schema, v_policy.table_name),
                             format('Run select reaper.remove_policy(%L), then register the new table.', v_policy.name));
        return;
    end if;
    select format_type(a.atttypid, null) into v_type
      from pg_attribute a
     where a.attrelid = v_policy.table_oid and a.attname = v_policy.column_name and not a.attisdropped;
    if v_type <> v_policy.column_type then
        return query values (format('column %I had type %s at registration and has type %s now', v_policy.column_name, v_policy.column_type, v_type),
                             format('Run select reaper.remove_policy(%L), then register the policy again if the new type is intended.', v_policy.name));
    end if;
    return query
        select p.problem, p.fix
          from reaper_internal.retention_problems(v_policy.table_oid, v_policy.column_name, v_policy.allow_cascade, v_policy.created_by) as p;
end;
$$;
comment on function reaper.policy_problems(text) is
    'Why a policy cannot delete now, and how to fix it; no row if it can. Reads the catalogue only.';
revoke all on function reaper.policy_problems(text) from public;
grant execute on function reaper.policy_problems(text) to reaper_worker, reaper_ops, reaper_ro;
