-- column_problems: why this column cannot be the age of a row, or not without reading the whole table.
create or replace function reaper_internal.column_problems(p_table regclass, p_column name)
    returns table (problem text, fix text)
    language sql stable
as $$
    with target as (
        select a.attname, format_type(a.atttypid, null) as type,
               a.atttypid in ('timestamptz'::regtype, 'timestamp'::regtype, 'date'::regtype) as dated
          from pg_attribute a
         where a.attrelid = p_table and a.attname = p_column and a.attnum > 0 and not a.attisdropped
    ), bare as (
        select u.relid::regclass as name, p_table <> u.relid as is_partition
          from target t
         cross join reaper_internal.unindexed_tables(p_table, array[t.attname], true) as u
         where t.dated
    )
    select format('%s has no column %s', p_table, coalesce(quote_ident(p_column), '(null)')), 'Give the name of the column with the time of the row, spelled as in the catalogue.'
     where not exists (select from target)
    union all
    select format('%s.%I has type %s, which is not a time', p_table, t.attname, t.type),
           'Give a column of type timestamp with time zone, timestamp or date.'
      from target t
     where not t.dated
    union all
    select format('%s has no valid index led by %I: every purge would read the whole table', string_agg(b.name::text, ', '), p_column),
           string_agg(format('create index concurrently on %s (%I);', b.name, p_column), E'\n')
           || case when bool_or(b.is_partition) then format(E'\ncreate index on %s (%I); -- attaches those, and covers new partitions', p_table, p_column)
                   else '' end
      from bare b
    having count(*) > 0;
$$;
comment on function reaper_internal.column_problems(regclass, name) is
    'Why a column cannot be the age of a retention policy, and how to fix it; no row if it can.';
revoke all on function reaper_internal.column_problems(regclass, name) from public;
