-- link_problems: foreign keys that would forbid the deletion, slow it, or spread it further than allowed.
-- Followed through every CASCADE. Pastes must not be deleted this way: their content would not be released.
create or replace function reaper_internal.link_problems(p_table regclass, p_allow_cascade boolean)
    returns table (problem text, fix text)
    language sql stable
as $$
    with reached as materialized (
        select r.relid from reaper_internal.tables_reached_by_delete(p_table) as r
    ), links as (
        select f.conname, f.confdeltype, f.conrelid::regclass as source, f.confrelid::regclass as target, pg_get_constraintdef(f.oid) as definition,
               array(select a.attname
                       from unnest(f.conkey) with ordinality as k (attnum, place)
                       join pg_attribute a on a.attrelid = f.conrelid and a.attnum = k.attnum
                      order by k.place) as columns,
               format('foreign key %I of %s', f.conname, f.conrelid::regclass) as label,
               exists (select from reaper.bindings b where to_regclass(b.bound_table) = f.conrelid) as of_ours
          from pg_constraint f
         where f.contype = 'f'
           and f.confrelid in (select r.relid from reached r)
           and coalesce((to_jsonb(f) ->> 'conenforced')::boolean, true)  -- PostgreSQL 18 and later
           -- Partitions repeat the foreign key of their parent; once is enough.
           and not exists (select from pg_constraint p where p.oid = f.conparentid and p.confrelid in (select r.relid from reached r))
    )
    select format('%s would delete pastes without releasing their content', l.label),
           'Set expires_at of those pastes instead: the drain deletes them and their content.'
      from links l
     where l.of_ours
    union all
    select format('%s forbids deletions from %s', l.label, l.target),
           format('alter table %1$s drop constraint %2$I, add constraint %2$I %3$s on delete cascade not valid; alter table %1$s validate constraint %2$I; '
                  '-- then register with p_allow_cascade => true (--allow-cascade)', l.source, l.conname,
                  regexp_replace(l.definition, ' ON DELETE (NO ACTION|RESTRICT)| NOT VALID', '', 'g'))
      from links l
     where l.confdeltype in ('a', 'r') and not l.of_ours
    union all
    select format('%s has no index: every deleted row would read all of %s', l.label, u.relid::regclass),
           format('create index concurrently on %s (%s);', u.relid::regclass, (select string_agg(quote_ident(c.name), ', ') from unnest(l.columns) as c (name)))
      from links l
     cross join lateral reaper_internal.unindexed_tables(l.source, l.columns, false) as u
    union all
    select format('%s %s', l.label, case l.confdeltype when 'c' then 'deletes rows of ' || l.source else 'changes rows of ' || l.source end),
           'If that is wanted, register with p_allow_cascade => true (--allow-cascade).'
      from links l
     where l.confdeltype in ('c', 'n', 'd') and not p_allow_cascade and not l.of_ours;
$$;
comment on function reaper_internal.link_problems(regclass, boolean) is
    'Foreign keys that forbid, slow or spread deletions from a table, and how to fix each; no row if there are none.';
revoke all on function reaper_internal.link_problems(regclass, boolean) from public;
