-- tables_reached_by_delete: the tables that lose rows if this one does: its partitions, and all behind ON DELETE CASCADE.
create or replace function reaper_internal.tables_reached_by_delete(p_table regclass)
    returns table (relid oid)
    language sql stable rows 3
as $$
    with recursive reached (relid) as (
        select t.relid from reaper_internal.table_tree(p_table) as t
        union
        select t.relid
          from reached r
          join pg_constraint f on f.confrelid = r.relid and f.contype = 'f' and f.confdeltype = 'c'
         cross join lateral reaper_internal.table_tree(f.conrelid) as t
    )
    select r.relid from reached r;
$$;
comment on function reaper_internal.tables_reached_by_delete(regclass) is
    'The tables that lose rows if this one does: itself, its partitions, and those behind foreign keys with ON DELETE CASCADE.';
revoke all on function reaper_internal.tables_reached_by_delete(regclass) from public;
