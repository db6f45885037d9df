-- diagnose_tables: are the application's tables as reaper needs them? One row per check.
create or replace function reaper.diagnose_tables()
    returns table (name text, verdict text, detail text, fix text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    with bound as materialized (
        select b.name, b.bound_table, b.columns, b.key_expression, to_regclass(b.bound_table) as rel from reaper.bindings b
    ), indexes as materialized (
        select i.indrelid, i.indexrelid::regclass::text as index, i.indisvalid, i.indisunique, i.indnkeyatts,
               i.indpred is null as whole, pg_get_indexdef(i.indexrelid) as definition, a.attname::text as leads, m.amname as method,
               i.indexprs is not null and i.indkey[0] = 0 as of_expression
          from pg_index i
          join pg_class x on x.oid = i.indexrelid
          join pg_am m on m.oid = x.relam
          left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
         where i.indrelid in (select b.rel from bound b)
            or i.indrelid in (select c.oid from pg_class c where c.relnamespace = 'reaper'::regnamespace)
    ), wanted as (
        select w.tab, w.col, w.uniquely, w.why, b.rel, b.columns ->> w.col as leads
          from (values ('pastes', 'expires_at', false, 'every claim would read the whole table'),
                       ('pastes', 'content_hash', false, 'every drop would read the whole table'),
                       ('content', 'object_key', true, 'two contents could share one object, and lose it together')) as w (tab, col, uniquely, why)
          join bound b on b.name = w.tab
    ), rules (name, present, valid, works, fix) as (
        select 'foreign key from pastes to content', count(*) > 0, bool_or(c.convalidated),
               -- A foreign key is four triggers, which a data load may have left disabled.
               bool_and(not exists (select from pg_trigger t where t.tgconstraint = c.oid and t.tgenabled not in ('O', 'A'))),
               'Run: reaper migrate; if its triggers are disabled: alter table … enable trigger all, on both tables. Without it a live paste could lose its content.'
          from pg_constraint c
         where c.conrelid = (select b.rel from bound b where b.name = 'pastes')
           and c.confrelid = (select b.rel from bound b where b.name = 'content') and c.contype = 'f'
        union all
        select 'check of pastes.deletion_status', count(*) > 0, bool_or(c.convalidated), true, 'Run: reaper migrate'
          from bound b
          left join pg_attribute a on a.attrelid = b.rel and a.attname = b.columns ->> 'deletion_status'
          join pg_constraint c on c.conrelid = b.rel and c.contype = 'c' and a.attnum = any (c.conkey)
                              and pg_get_constraintdef(c.oid) like '%DELETION_IN_PROGRESS%'
         where b.name = 'pastes'
    ), switched_off as (
        select c.relname::text
          from pg_class c
         cross join unnest(c.reloptions) as o (option)
         where c.oid in (select b.rel from bound b) and o.option in ('autovacuum_enabled=false', 'autovacuum_enabled=off')
    ), worn as (
        select s.relname::text, s.n_dead_tup, s.n_live_tup
          from pg_stat_all_tables s
         where s.relid in (select b.rel from bound b) and s.n_dead_tup > 10000 + s.n_live_tup / 2
    )
    select format('index on %s.%s', w.tab, w.col),
           case when bool_or(i.index is not null) then 'ok' else 'fail' end,
           coalesce(string_agg(i.index, ', '), 'missing: ' || w.why),
           'Run: reaper migrate'
      from wanted w
      left join indexes i on i.indrelid = w.rel and i.indisvalid and i.whole and (i.leads = w.leads or (w.leads is null and i.of_expression))
                         and (not w.uniquely or (i.indisunique and i.indnkeyatts = 1))
                         and (i.method = 'btree' or (i.method = 'hash' and w.col = 'content_hash'))
     group by w.tab, w.col, w.why
    union all
    select 'invalid indexes', case when count(*) = 0 then 'ok' else 'fail' end,
           coalesce('invalid: ' || string_agg(i.index, ', '), 'all indexes are valid'), 'Run: reaper migrate; drop those of other makers with: drop index concurrently …'
      from indexes i
     where not i.indisvalid
    union all
    select 'indexes that slow claims', case when count(*) = 0 then 'ok' else 'warn' end,
           coalesce(string_agg(i.index, ', ') || ' contains a column that claims update, so no claim is a HOT update', 'no index contains a column that claims update'),
           'Drop the index: claims do not use it.'
      from indexes i
      join bound b on b.name = 'pastes' and b.rel = i.indrelid
      join pg_index x on x.indexrelid = i.index::regclass
     where exists (select from pg_attribute a
                    where a.attrelid = b.rel and a.attname in (b.columns ->> 'deletion_status', b.columns ->> 'deletion_initiated_at')
                      and (a.attnum = any (x.indkey) or i.definition ~ ('\m' || a.attname || '\M')))
    union all
    select r.name, case when r.present and r.valid and r.works then 'ok' else 'fail' end,
           case when not r.present then 'the constraint is missing' when not r.valid then 'not validated'
                when not r.works then 'its triggers are disabled' else 'validated' end, r.fix
      from rules r
    union all
    select 'guard of retired object keys', case when count(*) = 1 then 'ok' else 'fail' end,
           case when count(*) = 1 then 'trigger reaper_retired_key on content is enabled' else 'trigger reaper_retired_key on content is missing, disabled or changed' end,
           (select format('Run: alter table %s enable trigger reaper_retired_key, or reaper migrate. Without it a new paste could lose its bytes.', b.bound_table)
              from bound b where b.name = 'content')
      from pg_trigger t
     where t.tgrelid = (select b.rel from bound b where b.name = 'content') and t.tgname = 'reaper_retired_key' and t.tgenabled in ('O', 'A')
       and t.tgfoid = 'reaper_internal.require_free_key()'::regprocedure
       and t.tgtype = 21  -- for each row, after insert or update
    union all
    -- A batch finds its rows by their address (ctid), which is unique only within one table.
    select 'table inheritance', case when count(*) = 0 then 'ok' else 'fail' end,
           coalesce('inherit from pastes or content: ' || string_agg(i.inhrelid::regclass::text, ', ' order by i.inhrelid::regclass::text), 'no table inherits from pastes or content'),
           'Detach it: alter table … no inherit …; else rows of that table could be deleted.'
      from pg_inherits i
     where i.inhparent in (select b.rel from bound b)
    union all
    select 'distributed tables', case when count(*) = 0 then 'ok' else 'fail' end,
           coalesce('distributed by Citus: ' || string_agg(b.name, ', ' order by b.name), 'neither pastes nor content is distributed'),
           'Make it a plain table: ' || string_agg(format('select undistribute_table(%L)', b.bound_table), '; ') || '; else rows of other shards could be deleted.'
      from bound b
      join reaper_internal.distributed_tables() as d (rel) on d.rel = b.rel
    union all
    select 'autovacuum', case when count(*) = 0 and current_setting('autovacuum')::boolean then 'ok' else 'warn' end,
           case when not current_setting('autovacuum')::boolean then 'off for the whole server'
                else coalesce('off for ' || string_agg(s.relname, ', '), 'on') end,
           'Turn autovacuum on: without it deleted rows stay on disk and slow every claim.'
      from switched_off s
    union all
    select 'dead rows', case when count(*) = 0 then 'ok' else 'warn' end,
           coalesce(string_agg(format('%s dead rows beside %s live ones in %s', w.n_dead_tup, w.n_live_tup, w.relname), '; '), 'few dead rows'),
           (select 'End the session that holds an old snapshot (see that check), then run: vacuum ' || string_agg(b.bound_table, ', ') from bound b)
      from worn w
    union all
    select 'binding', case when count(*) = 0 then 'ok' else 'fail' end,
           coalesce(string_agg(p.problem, '; '),
                    (select string_agg(format('%s is %s', b.name, b.bound_table), ', ' order by b.name desc) from bound b)),
           string_agg(p.fix, ' ')
      from reaper_internal.binding_problems() as p
    union all
    -- The view follows a renamed column; what is written about the binding does not, and the next bind() would fail.
    select 'bound columns', case when count(*) = 0 then 'ok' else 'warn' end,
           coalesce('no longer called as in the binding: ' || string_agg(format('%s.%s (%s.%s)', b.bound_table, c.value, b.name, c.key), ', '), 'as in the binding'),
           'Name the column that it is now: select reaper.bind(''{"pastes": {"expires_at": "its_new_name"}}''), and in reaper.toml.'
      from bound b
     cross join lateral jsonb_each_text(b.columns) as c
     where b.rel is not null
       and not exists (select from pg_attribute a where a.attrelid = b.rel and a.attname = c.value and not a.attisdropped)
    union all
    select 'object keys', case when b.keys_confirmed then 'ok' when b.keys_confirmed is null then 'warn' else 'fail' end,
           coalesce(b.keys_checked, 'it was not looked yet whether objects lie under the object keys of ' || b.bound_table),
           case when b.keys_confirmed is false
                then 'Bind object_key to the column or expression that names the objects ([tables.content] in reaper.toml, then reaper migrate). reaper verify lists them all.'
                else 'Run reaper doctor with the bucket configured: it looks for a sample of the objects, as a drain does before its first claim.' end
      from reaper.bindings b
     where b.name = 'content';
$$;
comment on function reaper.diagnose_tables() is
    'Checks indexes, constraints and vacuum of pastes and content: ok, warn or fail, and how to fix it. Reads the catalogue only.';
revoke all on function reaper.diagnose_tables() from public;
grant execute on function reaper.diagnose_tables() to reaper_worker, reaper_ops, reaper_ro;
