-- unindexed_tables: the tables of a tree without an index led by these columns, in any order of the columns.
-- Partitions are checked one by one: attribute numbers differ between them, and a partition may have lost its index.
-- p_ordered requires an index that returns the rows in the column's order; a foreign key needs only one that finds them.
create or replace function reaper_internal.unindexed_tables(p_table regclass, p_columns name[], p_ordered boolean)
    returns table (relid oid)
    language sql stable rows 3
as $$
    with indexes as (
        select i.indrelid,
               array(select a.attname
                       from generate_series(0, cardinality(p_columns) - 1) as n (place)
                       join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[n.place]
                      order by a.attname) as leads,
               -- Ascending with nulls last, or the mirror of it: another order of nulls would have to be sorted.
               m.amname = 'btree' and i.indoption[0] in (0, 3) as ordered,
               m.amname
          from reaper_internal.table_tree(p_table) as t
          join pg_index i on i.indrelid = t.relid
          join pg_class x on x.oid = i.indexrelid
          join pg_am m on m.oid = x.relam
         where i.indisvalid and i.indisready and i.indpred is null and i.indnkeyatts >= cardinality(p_columns)
    )
    select c.oid
      from reaper_internal.table_tree(p_table) as t
      join pg_class c on c.oid = t.relid
     where c.relkind = 'r'
       and not exists (select from indexes i
                        where i.indrelid = c.oid
                          and i.leads = array(select n.name from unnest(p_columns) as n (name) order by n.name)
                          and case when p_ordered then i.ordered else i.amname in ('btree', 'hash') end);
$$;
comment on function reaper_internal.unindexed_tables(regclass, name[], boolean) is
    'The tables of a tree that have no valid, whole index led by the columns; with p_ordered it must give their order.';
revoke all on function reaper_internal.unindexed_tables(regclass, name[], boolean) from public;
