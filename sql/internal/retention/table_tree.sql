-- table_tree: a table and, where it is partitioned, all partitions below it.
create or replace function reaper_internal.table_tree(p_table regclass)
    returns table (relid oid)
    language sql stable rows 3
as $$
    select p_table::oid
    union
    select t.relid::oid from pg_partition_tree(p_table) as t;
$$;
comment on function reaper_internal.table_tree(regclass) is
    'A table and all partitions below it.';
revoke all on function reaper_internal.table_tree(regclass) from public;
