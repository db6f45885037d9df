-- binding_problems: why rows must not be claimed or released through reaper.pastes and reaper.content now. The views know their tables by
-- number: after the application has swapped a table (copied and renamed it), they would read the old one and release content that the
-- new one still needs. Cheap, for it is asked for every batch.
create or replace function reaper_internal.binding_problems()
    returns table (problem text, fix text)
    language plpgsql stable
as $$
#variable_conflict use_column
begin
    return query
        with bound as materialized (
            select b.name, b.bound_table, b.columns, reaper_internal.bound_oid(b.bound_table) as wanted, reaper_internal.base_table(b.name) as base
              from reaper.bindings b
             order by b.name
        ), tables as materialized (
            select b.*, c.relkind, c.relrowsecurity or c.relforcerowsecurity as secured,
                   exists (select from pg_catalog.pg_inherits i where c.oid in (i.inhrelid, i.inhparent)) as inherited
              from bound b
              join pg_catalog.pg_class c on c.oid = b.base
             where b.base = b.wanted
        )
        select 'no table is bound', 'Run reaper migrate.'
         where (select count(*) from bound) < 2
        union all
        select format('reaper.%s does not exist: the tables are unbound', b.name), 'Run: select reaper.bind();'
          from bound b
         where b.base is null
        union all
        select case when b.wanted is null then format('%s, which is bound as reaper.%s, does not exist any more', b.bound_table, b.name)
                    else format('reaper.%s still reads %s: another table is called %s now', b.name, b.base, b.bound_table) end,
               format('Give the table its name back, or run reaper migrate, which binds %s again.', b.bound_table)
          from bound b
         where b.base is not null and b.wanted is distinct from b.base
        union all
        select format('%s %s', t.bound_table, case when t.relkind <> 'r' then 'is not an ordinary table' when t.secured then 'has row level security'
                                                   else 'takes part in table inheritance' end),
               'reaper finds rows by their address and decides by their absence: use an ordinary table of its own, without row level security.'
          from tables t
         where t.relkind <> 'r' or t.secured or t.inherited
        union all
        select format('%s is distributed by Citus, where a row''s address names a row in each shard', t.bound_table), 'Use an ordinary table: select undistribute_table(…).'
          from tables t
         where t.base in (select d.relid from reaper_internal.distributed_tables() as d (relid))
        union all
        select format('no foreign key from %s to %s: a live paste could lose its content', p.bound_table, c.bound_table), 'Run reaper migrate, which adds it.'
          from tables p
          join tables c on c.name = 'content'
         where p.name = 'pastes'
           and not exists (select from pg_catalog.pg_constraint f
                            where f.contype = 'f' and f.conrelid = p.base and f.confrelid = c.base
                              and reaper_internal.links_by_hash(f.conrelid, f.conkey, f.confrelid, f.confkey)
                              and coalesce((to_jsonb(f) ->> 'conenforced')::boolean, true))  -- PostgreSQL 18 and later
        union all
        select format('trigger reaper_retired_key on %s is missing, disabled or watches other columns: a new paste could lose its bytes', t.bound_table),
               'Run: select reaper.bind(), as the owner of the table; or reaper migrate.'
          from tables t
         where t.name = 'content' and not reaper_internal.has_key_guard()
        union all
        select format('reaper_owner may not use schema %s', n.nspname), format('grant usage on schema %I to reaper_owner', n.nspname)
          from tables t
          join pg_catalog.pg_class c on c.oid = t.base
          join pg_catalog.pg_namespace n on n.oid = c.relnamespace
         where not has_schema_privilege('reaper_owner', n.oid, 'USAGE')
        union all
        select format('reaper_owner has no right to %s rows of %s', lower(r.privilege), t.bound_table),
               format('grant select, insert, update, delete on %s to reaper_owner', t.bound_table)
          from tables t
         cross join unnest('{SELECT,UPDATE,DELETE}'::text[]) as r (privilege)
         where not has_table_privilege('reaper_owner', t.base, r.privilege)
        union all
        select k.problem, k.fix from reaper_internal.key_problems() as k;
end;
$$;
comment on function reaper_internal.binding_problems() is
    'Why nothing may be claimed through reaper.pastes and reaper.content, and how to fix it; no row if all is well.';
revoke all on function reaper_internal.binding_problems() from public;
