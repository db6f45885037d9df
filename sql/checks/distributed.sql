-- Finds bound tables that Citus distributes; the setting reaper.binding names the tables as JSON. Read-only; `reaper migrate` runs it before
-- the first change, where Citus is installed. A row's address (ctid), by which reaper deletes, names a row in each shard of such a table.
select 'refuse' as severity, t.value ->> 'table' as subject, 'is distributed by Citus' as problem,
       format('Make it a plain table: select undistribute_table(%L)', t.value ->> 'table') as fix
  from jsonb_each(current_setting('reaper.binding')::jsonb) as t
  join pg_catalog.pg_dist_partition d on d.logicalrelid = to_regclass(t.value ->> 'table')
 order by 2;
