-- diagnose_rights: has a role more rights than to call the functions granted to it? One row per check.
create or replace function reaper.diagnose_rights()
    returns table (name text, verdict text, detail text, fix text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    with rights as materialized (
        select c.oid::regclass::text as object, c.relkind in ('r', 'S') as holds_data, c.relowner as owner, g.*
          from pg_class c
         cross join lateral aclexplode(coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner))) as g
         where c.relnamespace = 'reaper'::regnamespace and c.relkind in ('r', 'v', 'S')
        union all
        select p.oid::regprocedure::text, false, p.proowner, g.*
          from pg_proc p
         cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as g
         where p.pronamespace in ('reaper'::regnamespace, 'reaper_internal'::regnamespace)
        union all
        select 'schema ' || n.nspname, false, n.nspowner, g.*
          from pg_namespace n
         cross join lateral aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) as g
         where n.nspname in ('reaper', 'reaper_internal')
    ), internal_rights as (
        select r.object, r.grantee, r.privilege_type
          from rights r
         where r.object ~ '^(schema )?reaper_internal(\.|$)' and r.grantee not in (0, r.owner)
    ), data_rights as (
        select r.object, r.grantee, r.privilege_type
          from rights r
         where r.holds_data and r.grantee not in (0, r.owner) and not (r.object in ('settings', 'bindings') and r.privilege_type = 'SELECT')
           and not (r.object in ('audit', 'drift', 'invalidations', 'sightings', 'suspects') and r.privilege_type = 'SELECT'
                    and r.grantee in ('reaper_ops'::regrole, 'reaper_ro'::regrole))
           -- The address of a webhook may hold a token, so readers see webhook_lanes alone.
           and not (r.object = 'webhooks' and r.privilege_type = 'SELECT' and r.grantee = 'reaper_ops'::regrole)
        union all
        -- Of single columns only the settings are granted to operators; a role that sets the clock could let live pastes expire.
        select format('%s.%s', c.oid::regclass, a.attname), g.grantee, g.privilege_type
          from pg_class c
          join pg_attribute a on a.attrelid = c.oid
         cross join lateral aclexplode(a.attacl) as g
         where c.relnamespace = 'reaper'::regnamespace
           and not (c.relname = 'settings' and g.privilege_type = 'UPDATE' and g.grantee = 'reaper_ops'::regrole
                    and a.attname not in ('only_row', 'clock_may_move', 'clock_offset'))
    ), foreign_owned as (
        select r.object from rights r where r.owner <> (select o.oid from pg_roles o where o.rolname = 'reaper_owner') group by r.object
    ), needed as (
        select format('%s on %s', p.privilege, t.name) as what
          from (select b.bound_table as name, to_regclass(b.bound_table) as rel from reaper.bindings b) as t
         cross join (values ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE')) as p (privilege)
         where t.rel is not null and not has_table_privilege('reaper_owner', t.rel, p.privilege)
    )
    select 'rights of PUBLIC', case when count(*) = 0 then 'ok' else 'fail' end,
           coalesce('PUBLIC has ' || string_agg(r.privilege_type || ' on ' || r.object, ', '), 'PUBLIC has no right in our schemas'),
           'Run: revoke all on … from public'
      from rights r
     where r.grantee = 0
    union all
    select 'rights on tables', case when count(*) = 0 then 'ok' else 'fail' end,
           coalesce(string_agg(format('%s has %s on %s', case d.grantee when 0 then 'PUBLIC' else d.grantee::regrole::text end,
                                      d.privilege_type, d.object), ', '), 'only the owner can write them'),
           'Run: revoke all on … from …; call the functions of schema reaper instead.'
      from data_rights d
    union all
    -- Internal functions rely on checks that their callers made.
    select 'rights on internal functions', case when count(*) = 0 then 'ok' else 'fail' end,
           coalesce(string_agg(format('%s has %s on %s', i.grantee::regrole, i.privilege_type, i.object), ', '), 'only the owner can use reaper_internal'),
           'Run: revoke all on … from …; call the functions of schema reaper instead.'
      from internal_rights i
    union all
    select 'owner role', case when o.rolsuper or o.rolcanlogin then 'fail' else 'ok' end,
           case when o.rolsuper then 'reaper_owner is a superuser, so every definer function runs as one'
                when o.rolcanlogin then 'reaper_owner can log in' else 'reaper_owner is neither a superuser nor a login' end,
           'Run: alter role reaper_owner nosuperuser nologin'
      from pg_roles o
     where o.rolname = 'reaper_owner'
    union all
    select 'ownership', case when count(*) = 0 then 'ok' else 'fail' end,
           coalesce('not owned by reaper_owner: ' || string_agg(f.object, ', '), 'reaper_owner owns everything in our schemas'),
           'Run: alter … owner to reaper_owner (a definer function runs with the rights of its owner)'
      from foreign_owned f
    union all
    select 'rights of the owner', case when count(*) = 0 then 'ok' else 'fail' end,
           coalesce('missing: ' || string_agg(n.what, ', '), 'reaper_owner can read and write pastes and content'),
           (select format('Run: grant select, insert, update, delete on %s to reaper_owner', string_agg(b.bound_table, ', ')) from reaper.bindings b)
      from needed n;
$$;
comment on function reaper.diagnose_rights() is
    'Checks that PUBLIC has no rights, that only the owner can use tables and internal functions, and that the owner is a plain role with the rights it needs: ok, warn or fail, and how to fix it.';
revoke all on function reaper.diagnose_rights() from public;
grant execute on function reaper.diagnose_rights() to reaper_worker, reaper_ops, reaper_ro;
