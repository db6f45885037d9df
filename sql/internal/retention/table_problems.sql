-- table_problems: why no row of this table may be deleted by age, whatever the column.
create or replace function reaper_internal.table_problems(p_table regclass)
    returns table (problem text, fix text)
    language sql stable
as $$
    with target as (
        select c.oid, c.relname, c.relkind, c.relpersistence, n.nspname,
               c.oid::regclass::text as label,
               format('%I.%I', n.nspname, c.relname) as full_name
          from pg_class c
          join pg_namespace n on n.oid = c.relnamespace
         where c.oid = p_table
    )
    select format('there is no table %s', coalesce(p_table::text, '(null)')), 'Give the name of an existing table: schema.table.'
     where not exists (select from target)
    union all
    select format('%s is %s', t.label, case t.relkind when 'v' then 'a view' when 'm' then 'a materialized view' when 'f' then 'a foreign table'
                                                      when 'S' then 'a sequence' when 'c' then 'a type' when 't' then 'a toast table' else 'an index' end),
           'Give the table that stores the rows, in its own database.'
      from target t
     where t.relkind not in ('r', 'p')
    union all
    select format('%s is a temporary table', t.label), 'Delete from it in its own session: no other session can see it.'
      from target t
     where t.relpersistence = 't'
    union all
    select format('%s is a system table of PostgreSQL', t.label), 'Give a table of your own.'
      from target t
     where t.relpersistence <> 't' and t.nspname ~ '^(pg_|information_schema$)'
    union all
    select format('%s is a table of reaper or its job queue', t.label), 'Give another table: the service prune keeps these small.'
      from target t
     where t.nspname = 'reaper' or (t.nspname = reaper.queue_schema() and starts_with(t.relname, 'procrastinate_'))
    union all
    select format('%s is emptied by the drain', t.label), 'Set expires_at instead: the drain deletes a paste together with its content.'
      from target t
     where exists (select from reaper.bindings b where to_regclass(b.bound_table) = t.oid)
    union all
    select format('%s has tables that inherit from it', t.label), 'Register a policy for each of them, or use declarative partitions.'
      from target t
     where t.relkind = 'r' and exists (select from pg_inherits i where i.inhparent = t.oid)
    union all
    select format('%s is distributed by Citus', t.label), format('Make it a plain table: select undistribute_table(%L)', t.full_name)
      from target t
     where t.oid in (select d.rel from reaper_internal.distributed_tables() as d (rel))
    union all
    select format('%s, a partition of %s, is a foreign table', c.oid::regclass, t.label), 'Register a policy for each local partition.'
      from target t
     cross join reaper_internal.table_tree(t.oid) as p
      join pg_class c on c.oid = p.relid and c.relkind = 'f' and c.oid <> t.oid
     where t.relkind = 'p'
    union all
    -- Checked for reaper_owner, which deletes.
    select format('%s has row level security, which hides rows from reaper', t.label),
           format('alter table %s disable row level security, no force row level security', t.full_name)
      from target t
     where t.relkind in ('r', 'p') and row_security_active(t.oid);
$$;
comment on function reaper_internal.table_problems(regclass) is
    'Why a table cannot have a retention policy, and how to fix it; no row if it can.';
revoke all on function reaper_internal.table_problems(regclass) from public;
