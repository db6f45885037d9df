-- Checks whether reaper can work with the bound tables, which the setting reaper.binding names as JSON. Read-only; `reaper migrate` runs it
-- before the first change and stops at any 'refuse'. One row per finding: (severity, subject, problem, fix).
with binding as (
    select t.key as name, t.value ->> 'table' as tab, t.value -> 'columns' as columns, t.value ->> 'expression' as expression,
           t.value -> 'told' as told
      from jsonb_each(current_setting('reaper.binding')::jsonb) as t
), tables as (
    select c.oid, b.name, b.tab, b.columns, b.expression, b.told, c.relkind, c.relpersistence, c.relowner,
           c.relrowsecurity or c.relforcerowsecurity as secured,
           exists (select from pg_catalog.pg_inherits i where c.oid in (i.inhrelid, i.inhparent)) as inherited
      from binding b
      join pg_catalog.pg_class c on c.oid = to_regclass(b.tab)
), wanted (name, logical, types, needed, nullable, why) as (
    values ('content', 'content_hash',          array['text', 'character varying'],          true,  false, 'it identifies content'),
           ('content', 'ref_count',             array['bigint', 'integer', 'smallint'],      true,  true,  'it counts the references'),
           ('content', 'object_key',            array['text', 'character varying'],          false, true,  'it names the object'),
           ('content', 'size_bytes',            array['bigint', 'integer', 'smallint'],      false, true,  'it is the size of the object'),
           ('content', 'created_at',            array['timestamp with time zone'],           false, true,  'it says when content was created'),
           ('pastes',  'short_code',            array['text', 'character varying'],          true,  false, 'it identifies a paste'),
           ('pastes',  'content_hash',          array['text', 'character varying'],          true,  false, 'it names the content'),
           ('pastes',  'created_at',            array['timestamp with time zone'],           false, true,  'it says when a paste was created'),
           ('pastes',  'expires_at',            array['timestamp with time zone'],           true,  true,  'it says when a paste expires; null = never'),
           ('pastes',  'deletion_status',       array['text', 'character varying'],          false, true,  'it is the mark of the claim'),
           ('pastes',  'deletion_initiated_at', array['timestamp with time zone'],           false, true,  'it is the time of the claim')
), columns as (
    select w.*, t.oid, t.tab, t.columns ->> w.logical as col, t.told ? w.logical as told, a.attnum, a.attnotnull, a.attcollation, a.attgenerated,
           regexp_replace(format_type(a.atttypid, a.atttypmod), '\(.*\)', '') as type
      from wanted w
      join tables t on t.name = w.name and t.relkind = 'r'
      left join pg_catalog.pg_attribute a on a.attrelid = t.oid and a.attname = t.columns ->> w.logical and not a.attisdropped
     where t.columns ? w.logical
), links as (
    select f.*, pg_get_constraintdef(f.oid) as definition
      from pg_catalog.pg_constraint f
     where f.contype = 'f'
), paste_links as (
    select f.conname, f.definition, f.confdeltype, coalesce((to_jsonb(f) ->> 'conenforced')::boolean, true) as enforced,  -- PostgreSQL 18 and later
           p.tab as pastes, c.tab as content, p.columns ->> 'content_hash' as reference, c.columns ->> 'content_hash' as hash
      from links f
      join tables p on p.name = 'pastes' and p.oid = f.conrelid
      join tables c on c.name = 'content' and c.oid = f.confrelid
)
select 'refuse' as severity, t.tab as subject,
       case t.relkind when 'p' then 'is partitioned' when 'v' then 'is a view' when 'm' then 'is a materialized view'
                      when 'f' then 'is a foreign table' else 'is not an ordinary table' end as problem,
       'Use an ordinary table: reaper locks and deletes rows by their address, which is unique only within one table.' as fix
  from tables t
 where t.relkind <> 'r'
union all
select 'refuse', t.tab, 'takes part in table inheritance', 'Detach it: alter table … no inherit …'
  from tables t
 where t.relkind = 'r' and t.inherited
union all
select 'refuse', t.tab, 'is unlogged: a crash empties it, and every object would be orphaned', format('alter table %s set logged', t.tab)
  from tables t
 where t.relpersistence = 'u'
union all
select 'refuse', t.tab, 'has row level security: rows that reaper cannot see look like rows that do not exist',
       format('alter table %s disable row level security, no force row level security', t.tab)
  from tables t
 where t.secured
union all
select 'refuse', p.tab, 'is bound as pastes and as content', 'Bind two tables: one row per paste, one row per content.'
  from tables p
  join tables c on c.name = 'content' and c.oid = p.oid
 where p.name = 'pastes'
union all
select 'refuse', format('%s.%s', c.tab, c.col), format('is missing (%s)', c.why),
       case when c.told then format('Correct the name that %s.%s is bound to', c.name, c.logical)
            else format('alter table %s add column %I %s  -- or bind the column that has this part: --bind %s.%s=its_name',
                        c.tab, c.col, c.types[1], c.name, c.logical) end
  from columns c
 where c.attnum is null and (c.needed or c.told)
union all
select 'refuse', format('%s.%s', c.tab, c.col), format('is %s, not %s', c.type, array_to_string(c.types, ' or ')),
       format('alter table %s alter column %I type %s%s', c.tab, c.col, c.types[1],
              case c.type when 'timestamp without time zone' then format(' using %I at time zone ''UTC''  -- the zone it was written in', c.col)
                          when 'bytea' then format(' using encode(%I, ''hex'')', c.col)
                          when 'character' then format(' using rtrim(%I)', c.col) else '' end)
       || case when c.needed then '' else format('; or bind %s.%s to another column', c.name, c.logical) end
  from columns c
 where c.attnum is not null and c.type <> all (c.types)
   -- Of a created_at that the application did not bind only the view would know; another type is read as it is.
   and (c.logical <> 'created_at' or c.told or c.type !~ '^(timestamp|date)')
union all
select 'refuse', format('%s.%s', c.tab, c.col), format('has collation %s, %s.%s has %s: no index can compare them',
                                                       c.attcollation::regcollation, h.tab, h.col, h.attcollation::regcollation),
       format('alter table %s alter column %I type %s collate %s', c.tab, c.col, c.type, h.attcollation::regcollation)
  from columns c
  join columns h on h.name = 'content' and h.logical = 'content_hash'
 where (c.name, c.logical) in (('pastes', 'content_hash'), ('content', 'object_key'))
   and c.attcollation <> h.attcollation and 0 not in (c.attcollation, h.attcollation)
   -- The default collation gives way to any other; then the index on pastes is not used, but the one on keys is.
   and (c.name = 'pastes' or '"default"'::regcollation not in (c.attcollation, h.attcollation))
union all
select 'refuse', format('%s.%s', c.tab, c.col), format('has collation %s, under which different texts are equal: references would not be found', c.attcollation::regcollation),
       format('alter table %s alter column %I type %s collate "C"', c.tab, c.col, c.type)
  from columns c
  join pg_catalog.pg_collation o on o.oid = c.attcollation
 where c.logical in ('content_hash', 'short_code', 'object_key') and not o.collisdeterministic
union all
-- The doors would meet it only after the upload.
select 'refuse', format('%s.%s', c.tab, c.col), 'is a generated column, and reaper could not write it',
       case when c.logical = 'object_key'
            then format('Bind its expression: --bind "content.object_key=%s"', pg_get_expr(d.adbin, d.adrelid))
            else format('Use an ordinary column: bind %s.%s to another one', c.name, c.logical) end
  from columns c
  join pg_catalog.pg_attrdef d on d.adrelid = c.oid and d.adnum = c.attnum
 where c.attgenerated <> ''
union all
select 'refuse', format('%s.%s', c.tab, c.col), 'may be null', format('alter table %s alter column %I set not null', c.tab, c.col)
  from columns c
 where c.attnum is not null and not c.nullable and not c.attnotnull
union all
select 'refuse', format('%s.%s', c.tab, c.col), 'is not unique by itself', format('create unique index concurrently on %s (%I)', c.tab, c.col)
  from columns c
 where (c.name, c.logical) in (('content', 'content_hash'), ('pastes', 'short_code'))
   and c.attnum is not null
   and not exists (select from pg_catalog.pg_index i
                    where i.indrelid = c.oid and i.indisunique and i.indisvalid and i.indimmediate
                      and i.indnkeyatts = 1 and i.indkey[0] = c.attnum and i.indpred is null)
union all
-- A second column for the same thing would be claimed by reaper and never be seen by the application.
select 'refuse', format('%s.%s', t.tab, a.attname), 'holds the states of seed-style expiry already, and reaper would add a second column for them',
       format('Bind it: --bind pastes.deletion_status=%1$s, or deletion_status = "%1$s" under [tables.pastes] in reaper.toml', a.attname)
  from tables t
  join pg_catalog.pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
 where t.name = 'pastes' and a.attname <> t.columns ->> 'deletion_status'
   and not exists (select from columns c where c.name = 'pastes' and c.logical = 'deletion_status' and c.attnum is not null)
   and (exists (select from pg_catalog.pg_constraint c
                 where c.conrelid = t.oid and c.contype = 'c' and a.attnum = any (c.conkey)
                   and pg_get_constraintdef(c.oid) like '%DELETION_IN_PROGRESS%')
        or exists (select from pg_catalog.pg_attrdef d
                    where d.adrelid = t.oid and d.adnum = a.attnum and pg_get_expr(d.adbin, d.adrelid) like '%NOT_EXPIRED%'))
union all
select 'refuse', format('%s, constraint %s', f.pastes, f.conname), format('would delete or change pastes with their content: %s', f.definition),
       format('alter table %1$s drop constraint %2$I, add constraint %2$I foreign key (%3$I) references %4$s (%5$I) not valid',
              f.pastes, f.conname, f.reference, f.content, f.hash)
  from paste_links f
 where f.confdeltype not in ('a', 'r')
union all
select 'refuse', format('%s, constraint %s', f.pastes, f.conname), 'is not enforced: content of live pastes could be deleted',
       format('alter table %s drop constraint %I', f.pastes, f.conname)
  from paste_links f
 where not f.enforced
union all
select 'refuse', t.tab, 'belongs to ' || pg_get_userbyid(t.relowner) || ', and the migrating role is not a member of that role',
       format('grant %I to %I', pg_get_userbyid(t.relowner), current_user)
  from tables t
 where not pg_has_role(current_user, t.relowner, 'USAGE')
union all
select 'warn', format('%s, constraint %s', f.conrelid::regclass, f.conname),
       format('refers to %s without CASCADE or SET NULL: rows that it refers to cannot be deleted and stay in reaper.blocked_rows', f.confrelid::regclass),
       -- A reference to content is most often that of an old copy of pastes: a cascade would empty it.
       case when f.confrelid = (select t.oid from tables t where t.name = 'content')
            then format('alter table %1$s drop constraint %2$I, or drop the table if it is an old copy', f.conrelid::regclass, f.conname)
            else format('alter table %1$s drop constraint %2$I, add constraint %2$I %3$s on delete cascade', f.conrelid::regclass, f.conname,
                        regexp_replace(f.definition, ' ON DELETE [A-Z ]+| NOT VALID', '', 'g'))
       end
  from links f
 where f.confrelid in (select t.oid from tables t)
   and f.conrelid is distinct from (select t.oid from tables t where t.name = 'pastes')
   and f.confdeltype not in ('c', 'n')
   and f.connamespace <> coalesce(to_regnamespace('reaper')::oid, 0)
union all
select 'warn', format('%s, trigger %s', t.tgrelid::regclass, t.tgname),
       format('runs with the rights and search_path of reaper when reaper changes rows, so unqualified names in it fail: %s', t.tgfoid::regprocedure),
       format('alter function %s security definer set search_path = public, pg_temp', t.tgfoid::regprocedure)
  from pg_catalog.pg_trigger t
  join pg_catalog.pg_proc f on f.oid = t.tgfoid
 where t.tgrelid in (select b.oid from tables b)
   and not t.tgisinternal
   and not (f.prosecdef and exists (select from unnest(f.proconfig) as c where c like 'search_path=%'))
   and f.pronamespace not in (select n.oid from pg_catalog.pg_namespace n where n.nspname in ('reaper', 'reaper_internal'))
   and t.tgtype & (8 | 16) <> 0  -- DELETE or UPDATE
 order by 1, 2, 3;
