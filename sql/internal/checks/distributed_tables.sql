-- distributed_tables: the tables that Citus distributes. A row's address (ctid) names a row in each shard of such a table.
-- Dynamic SQL, because the list exists only where Citus is installed.
create or replace function reaper_internal.distributed_tables()
    returns setof regclass
    language plpgsql stable
as $$
begin
    if to_regclass('pg_catalog.pg_dist_partition') is not null then
        return query execute 'select d.logicalrelid from pg_catalog.pg_dist_partition d';
    end if;
end;
$$;
comment on function reaper_internal.distributed_tables() is
    'Tables that Citus distributes; no row where Citus is not installed.';
revoke all on function reaper_internal.distributed_tables() from public;
