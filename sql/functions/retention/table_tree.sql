-- table_tree: a table and, where it is partitioned, all partitions below it.
create or replace function reaper.table_tree(p_table regclass)
    returns table (relid oid)
    language sql stable security definer rows 3
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select p_table::oid
    union
    select t.relid::oid from pg_partition_tree(p_table) as t;
$$;
comment on function reaper.table_tree(regclass) is
    'A table and all partitions below it.';
revoke all on function reaper.table_tree(regclass) from public;
