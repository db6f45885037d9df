-- Checks whether reaper can work with the existing tables. Read-only; `reaper migrate` runs it before the first change and stops at any
-- 'refuse'. One row per finding: (severity, subject, problem, fix). Missing tables are no finding: reaper creates them.
with tables as (
    select c.oid, n.name, c.relkind, c.relpersistence, c.relrowsecurity or c.relforcerowsecurity as secured,
           exists (select from pg_catalog.pg_inherits i where c.oid in (i.inhrelid, i.inhparent)) as inherited
      from (values ('content'), ('pastes')) as n (name)
      join pg_catalog.pg_class c on c.oid = to_regclass('public.' || n.name)
), wanted (tab, col, types, needed, nullable, why) as (
    values ('content', 'content_hash',          array['text', 'character varying'],          true,  false, 'it identifies content'),
           ('content', 'ref_count',             array['bigint', 'integer', 'smallint'],      true,  true,  'it counts the references'),
           ('content', 'object_key',            array['text', 'character varying'],          false, true,  'it names the object'),
           ('content', 'size_bytes',            array['bigint', 'integer', 'smallint'],      false, true,  'it is the size of the object'),
           ('pastes',  'short_code',            array['text', 'character varying'],          true,  false, 'it identifies a paste'),
           ('pastes',  'content_hash',          array['text', 'character varying'],          true,  false, 'it names the content'),
           ('pastes',  'expires_at',            array['timestamp with time zone'],           true,  true,  'it says when a paste expires; null = never'),
           ('pastes',  'deletion_status',       array['text', 'character varying'],          false, false, 'it is the mark of the claim'),
           ('pastes',  'deletion_initiated_at', array['timestamp with time zone'],           false, true,  'it is the time of the claim')
), columns as (
    select w.*, t.oid, a.attnum, a.attnotnull, a.attcollation,
           regexp_replace(format_type(a.atttypid, a.atttypmod), '\(.*\)', '') as type
      from wanted w
      join tables t on t.name = w.tab
      left join pg_catalog.pg_attribute a on a.attrelid = t.oid and a.attname = w.col and not a.attisdropped
), keys (tab, col) as (
    values ('content', 'content_hash'), ('pastes', 'short_code')
), links as (
    select f.*, pg_get_constraintdef(f.oid) as definition
      from pg_catalog.pg_constraint f
     where f.contype = 'f'
)
select 'refuse' as severity, 'public.' || t.name as subject,
       case t.relkind when 'p' then 'is partitioned' when 'v' then 'is a view' when 'm' then 'is a materialized view'
                      when 'f' then 'is a foreign table' else 'is not an ordinary table' end as problem,
       'Use an ordinary table: reaper locks and deletes rows by their address, which is unique only within one table.' as fix
  from tables t
 where t.relkind <> 'r'
union all
select 'refuse', 'public.' || t.name, 'takes part in table inheritance', 'Detach it: alter table … no inherit …'
  from tables t
 where t.relkind = 'r' and t.inherited
union all
select 'refuse', 'public.' || t.name, 'is unlogged: a crash empties it, and every object would be orphaned',
       format('alter table public.%I set logged', t.name)
  from tables t
 where t.relpersistence = 'u'
union all
select 'refuse', 'public.' || t.name, 'has row level security: rows that reaper cannot see look like rows that do not exist',
       format('alter table public.%I disable row level security, no force row level security', t.name)
  from tables t
 where t.secured
union all
select 'refuse', format('public.%s.%s', c.tab, c.col), format('is missing (%s)', c.why),
       format('alter table public.%I add column %I %s', c.tab, c.col, c.types[1])
  from columns c
 where c.needed and c.attnum is null
union all
select 'refuse', format('public.%s.%s', c.tab, c.col), format('is %s, not %s', c.type, array_to_string(c.types, ' or ')),
       format('alter table public.%I alter column %I type %s%s', c.tab, c.col, c.types[1],
              case c.type when 'timestamp without time zone' then format(' using %I at time zone ''UTC''  -- the zone it was written in', c.col)
                          when 'bytea' then format(' using encode(%I, ''hex'')', c.col)
                          when 'character' then format(' using rtrim(%I)', c.col) else '' end)
  from columns c
 where c.attnum is not null and c.type <> all (c.types)
union all
select 'refuse', format('public.%s.%s', c.tab, c.col), format('has collation %s, public.content.content_hash has %s: no index can compare them',
                                                              c.attcollation::regcollation, h.attcollation::regcollation),
       format('alter table public.%I alter column %I type %s collate %s', c.tab, c.col, c.type, h.attcollation::regcollation)
  from columns c
  join columns h on h.tab = 'content' and h.col = 'content_hash'
 where (c.tab, c.col) in (('pastes', 'content_hash'), ('content', 'object_key'))
   and c.attcollation <> h.attcollation and 0 not in (c.attcollation, h.attcollation)
   -- The default collation gives way to any other; then the index on pastes is not used, but the one on keys is.
   and (c.tab = 'pastes' or '"default"'::regcollation not in (c.attcollation, h.attcollation))
union all
select 'refuse', format('public.%s.%s', c.tab, c.col), 'may be null', format('alter table public.%I alter column %I set not null', c.tab, c.col)
  from columns c
 where c.attnum is not null and not c.nullable and not c.attnotnull
union all
select 'refuse', format('public.%s.%s', k.tab, k.col), 'is not unique by itself',
       format('create unique index concurrently on public.%I (%I)', k.tab, k.col)
  from keys k
  join columns c on c.tab = k.tab and c.col = k.col and c.attnum is not null
 where not exists (select from pg_catalog.pg_index i
                    where i.indrelid = c.oid and i.indisunique and i.indisvalid and i.indimmediate
                      and i.indnkeyatts = 1 and i.indkey[0] = c.attnum and i.indpred is null)
union all
select 'refuse', 'public.' || s.name, 'exists without ' || s.other, 'Create the other table too, or rename this one: reaper needs both tables, or creates both.'
  from (values ('content', 'public.pastes'), ('pastes', 'public.content')) as s (name, other)
 where to_regclass('public.' || s.name) is not null and to_regclass(s.other) is null
union all
select 'refuse', format('public.pastes, constraint %s', f.conname), format('would delete or change pastes with their content: %s', f.definition),
       format('alter table public.pastes drop constraint %1$I, add constraint %1$I foreign key (content_hash) references public.content (content_hash) not valid', f.conname)
  from links f
 where f.conrelid = to_regclass('public.pastes') and f.confrelid = to_regclass('public.content') and f.confdeltype not in ('a', 'r')
union all
select 'refuse', format('public.pastes, constraint %s', f.conname), 'is not enforced: content of live pastes could be deleted',
       format('alter table public.pastes drop constraint %I', f.conname)
  from links f
 where f.conrelid = to_regclass('public.pastes') and f.confrelid = to_regclass('public.content')
   and not coalesce((to_jsonb(f) ->> 'conenforced')::boolean, true)  -- PostgreSQL 18 and later
union all
select 'refuse', 'public.' || t.name, 'belongs to ' || pg_get_userbyid(c.relowner) || ', and the migrating role is not a member of that role',
       format('grant %I to %I', pg_get_userbyid(c.relowner), current_user)
  from tables t
  join pg_catalog.pg_class c on c.oid = t.oid
 where not pg_has_role(current_user, c.relowner, 'USAGE')
union all
select 'warn', format('%s, constraint %s', f.conrelid::regclass, f.conname),
       format('refers to %s without CASCADE or SET NULL: rows that it refers to cannot be deleted and stay in reaper.blocked', f.confrelid::regclass),
       format('alter table %1$s drop constraint %2$I, add constraint %2$I %3$s on delete cascade', f.conrelid::regclass, f.conname,
              regexp_replace(f.definition, ' ON DELETE [A-Z ]+| NOT VALID', '', 'g'))
  from links f
 where f.confrelid in (to_regclass('public.pastes'), to_regclass('public.content'))
   and f.conrelid is distinct from to_regclass('public.pastes')
   and f.confdeltype not in ('c', 'n')
   and f.connamespace <> coalesce(to_regnamespace('reaper')::oid, 0)
union all
select 'warn', format('%s, trigger %s', t.tgrelid::regclass, t.tgname),
       format('runs with the rights and search_path of reaper when reaper changes rows, so unqualified names in it fail: %s', t.tgfoid::regprocedure),
       format('alter function %s security definer set search_path = public, pg_temp', t.tgfoid::regprocedure)
  from pg_catalog.pg_trigger t
  join pg_catalog.pg_proc f on f.oid = t.tgfoid
 where t.tgrelid in (to_regclass('public.pastes'), to_regclass('public.content'))
   and not t.tgisinternal
   and not (f.prosecdef and exists (select from unnest(f.proconfig) as c where c like 'search_path=%'))
   and f.pronamespace <> coalesce(to_regnamespace('reaper')::oid, 0)
   and t.tgtype & (8 | 16) <> 0  -- DELETE or UPDATE
 order by 1, 2, 3;
