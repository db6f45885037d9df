-- right_problems: may the login that registered the policy delete these rows, and may reaper_owner?
-- reaper must not give a login the means to delete what it could not delete itself.
create or replace function reaper_internal.right_problems(p_table regclass, p_column name, p_role name)
    returns table (problem text, fix text)
    language sql stable
as $$
    with target as (
        select c.oid, n.nspname, format('%I.%I', n.nspname, c.relname) as full_name
          from pg_class c
          join pg_namespace n on n.oid = c.relnamespace
         where c.oid = p_table
    ), lacking as (
        select t.full_name, not has_schema_privilege('reaper_owner', t.nspname, 'USAGE') as usage,
               -- FOR UPDATE needs the right to update some column.
               not (has_table_privilege('reaper_owner', t.oid, 'SELECT') and has_table_privilege('reaper_owner', t.oid, 'DELETE')
                    and has_any_column_privilege('reaper_owner', t.oid, 'UPDATE')) as rows,
               t.nspname
          from target t
    )
    select format('role %I, which registered the policy, does not exist any more', p_role), 'Remove the policy and register it again with another role.'
     where not exists (select from pg_roles r where r.rolname = p_role)
    union all
    select format('role %I may not delete from %s', p_role, t.full_name), format('grant delete on %s to %I;', t.full_name, p_role)
      from target t
      join pg_roles r on r.rolname = p_role
     where not has_table_privilege(r.oid, t.oid, 'DELETE')
    union all
    select format('reaper_owner, which executes purges, may not lock and delete rows of %s', l.full_name),
           concat_ws(' ', case when l.usage then format('grant usage on schema %I to reaper_owner;', l.nspname) end,
                     case when l.rows then format('grant select, delete, update%s on %s to reaper_owner;', ' (' || quote_ident(p_column) || ')', l.full_name) end)
      from lacking l
     where l.usage or l.rows;
$$;
comment on function reaper_internal.right_problems(regclass, name, name) is
    'Rights on a table that the login of a policy or reaper_owner lacks, and the GRANT for each; no row if there are none.';
revoke all on function reaper_internal.right_problems(regclass, name, name) from public;
