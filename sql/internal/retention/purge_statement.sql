-- purge_statement: the one statement that finds, locks and deletes the oldest rows; $1 is the cutoff, $2 the limit.
-- Rows are named by primary key, which finds them again after a concurrent update; without one by their address (ctid), which is unique
-- only within one physical table, hence tableoid. The column is compared as well, so that other partitions are not read; as a range,
-- because an equality would lead the planner to search among all rows of the same time.
-- Types of other schemas have operators that our search_path does not include, so their keys are not used.
create or replace function reaper_internal.purge_statement(p_table regclass, p_column name)
    returns text
    language sql stable
as $$
    with primary_key as (
        select string_agg(format('t.%I as k%s', a.attname, k.place), ', ' order by k.place) as named,
               string_agg(format('d.%I = a.k%s', a.attname, k.place), ' and ' order by k.place) as matched
          from pg_index i
          join pg_class x on x.oid = i.indexrelid
          join pg_am m on m.oid = x.relam and m.amname = 'btree'
         cross join lateral unnest(i.indkey::smallint[]) with ordinality as k (attnum, place)
          join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
          join pg_type t on t.oid = a.atttypid
         where i.indrelid = p_table and i.indisprimary and i.indisvalid and i.indimmediate and k.place <= i.indnkeyatts
        having bool_and(t.typnamespace = 'pg_catalog'::regnamespace)
    ), place as (
        select format('t.ctid as k1, t.tableoid as k2, t.%I as k3', p_column) as named,
               format('d.ctid = a.k1 and d.tableoid = a.k2 and d.%1$I >= a.k3 and d.%1$I <= a.k3', p_column) as matched
    )
    select format(
               'with aged as materialized ('
               'select %1$s from %2$I.%3$I t where t.%4$I < %5$s order by t.%4$I limit $2 for update skip locked) '
               'delete from %2$I.%3$I d using aged a where %6$s',
               coalesce(k.named, p.named), n.nspname, c.relname, p_column, reaper_internal.cutoff_expression(p_table, p_column),
               coalesce(k.matched, p.matched))
      from place p
      left join primary_key k on true
      join pg_class c on c.oid = p_table
      join pg_namespace n on n.oid = c.relnamespace;
$$;
comment on function reaper_internal.purge_statement(regclass, name) is
    'The DELETE of one batch: keyed, bounded, oldest first, skipping rows that other transactions hold. $1 is the cutoff, $2 the limit.';
revoke all on function reaper_internal.purge_statement(regclass, name) from public;
