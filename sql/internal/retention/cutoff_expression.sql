-- cutoff_expression: the cutoff $1 in the type of the column, so that the index can be used.
-- A type without time zone is UTC. A date is older than the cutoff if its whole day is.
create or replace function reaper_internal.cutoff_expression(p_table regclass, p_column name)
    returns text
    language sql stable
as $$
    select case a.atttypid when 'timestamptz'::regtype then '$1'
                           when 'timestamp'::regtype then '($1 at time zone ''UTC'')'
                           when 'date'::regtype then '($1 at time zone ''UTC'')::date' end
      from pg_attribute a
     where a.attrelid = p_table and a.attname = p_column;
$$;
comment on function reaper_internal.cutoff_expression(regclass, name) is
    'How the cutoff $1 is compared with a column: as it is, in UTC without zone, or as a date in UTC.';
revoke all on function reaper_internal.cutoff_expression(regclass, name) from public;
