-- trigger_problems: triggers and rules that a deletion would run.
-- A trigger function runs as the role that deletes, here reaper_owner: one that other roles may replace must run as its own owner.
create or replace function reaper_internal.trigger_problems(p_table regclass, p_allow_cascade boolean)
    returns table (problem text, fix text)
    language sql stable
as $$
    with tree as materialized (
        select t.relid from reaper_internal.table_tree(p_table) as t
    ), triggers as (
        select format('trigger %I of %s', g.tgname, g.tgrelid::regclass) as label,
               g.tgtype & 1 = 1 or g.tgoldtable is not null as sees_rows,
               p.oid::regprocedure as function,
               p.prosecdef or pg_has_role(p.proowner, 'reaper_owner', 'MEMBER') as is_safe
          from pg_trigger g
          join pg_proc p on p.oid = g.tgfoid
         where g.tgrelid in (select t.relid from tree t)
           and not g.tgisinternal
           and g.tgenabled in ('O', 'A')
           and g.tgtype & 8 = 8
           -- A trigger per statement fires for the table that is named; partitions repeat the triggers per row.
           and (g.tgtype & 1 = 1 or g.tgrelid = p_table)
           and not exists (select from pg_trigger m where m.oid = g.tgparentid and m.tgrelid in (select t.relid from tree t))
    )
    select format('%s acts on every deleted row', g.label),
           'If that is wanted, register with p_allow_cascade => true (--allow-cascade).'
      from triggers g
     where g.sees_rows and not p_allow_cascade
    union all
    select format('%s calls %s, which would run with the rights of reaper_owner', g.label, g.function),
           format('alter function %s security definer set search_path = pg_catalog, pg_temp; -- and the schemas that it needs', g.function)
      from triggers g
     where not g.is_safe
    union all
    select format('rule %I of %s rewrites deletions', r.rulename, p_table), format('drop rule %I on %s', r.rulename, p_table)
      from pg_rewrite r
     where r.ev_class = p_table and r.ev_type = '4' and r.ev_enabled <> 'D';
$$;
comment on function reaper_internal.trigger_problems(regclass, boolean) is
    'Triggers and rules that deletions from a table would run, and how to fix each; no row if there are none.';
revoke all on function reaper_internal.trigger_problems(regclass, boolean) from public;
