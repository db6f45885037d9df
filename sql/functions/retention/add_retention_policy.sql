-- add_retention_policy: register that old rows of a table are to be deleted. Nothing is deleted before enable_policy().
-- No text of the caller becomes SQL: the table is a regclass, the column is looked up, the age is an interval.
create or replace function reaper.add_retention_policy(
    p_name           text,
    p_table          regclass,
    p_column         name,
    p_max_age        interval,
    p_batch_limit    integer default 500,
    p_schedule       text    default '@hourly',
    p_allow_cascade  boolean default false
)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_problems text[];
    v_fixes    text[];
begin
    perform reaper_internal.require_read_committed();
    perform reaper_internal.require_policy_arguments(p_name, p_max_age, p_batch_limit, p_schedule, p_allow_cascade);
    select array_agg(r.problem), array_agg(r.fix) into v_problems, v_fixes
      from reaper_internal.retention_problems(p_table, p_column, p_allow_cascade, session_user) as r;
    perform reaper_internal.require_no_problems(p_name, v_problems, v_fixes);

    insert into reaper.retention_policies (name, table_oid, table_schema, table_name, column_name, column_type, max_age,
                                           batch_limit, schedule, allow_cascade, created_by, created_at)
    select p_name, c.oid, n.nspname, c.relname, a.attname, format_type(a.atttypid, null), p_max_age,
           p_batch_limit, p_schedule, p_allow_cascade, session_user, reaper.clock()
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attname = p_column
     where c.oid = p_table
        on conflict (name) do nothing;
    if not found then
        perform reaper_internal.require_no_problems(p_name, array['a policy of this name exists'],
                                     array[format('Choose another name, or remove the existing policy first: select reaper.remove_policy(%L)', p_name)]);
    end if;
    perform reaper_internal.record_audit('add_retention_policy', 'policy:' || p_name, null,
                                format('%s, %I older than %s, %s at a time, %s%s', p_table, p_column, p_max_age, p_batch_limit, p_schedule,
                                       case when p_allow_cascade then ', with cascades' else '' end));
end;
$$;
comment on function reaper.add_retention_policy(text, regclass, name, interval, integer, text, boolean) is
    'Registers that rows of p_table whose p_column is older than p_max_age are to be deleted, p_batch_limit at a time; deletes nothing until enable_policy(). '
    'Refuses (RP005, the hint has the fix) a table without an index led by the column, foreign keys that forbid or slow deletions, cascades and triggers '
    'unless p_allow_cascade, tables of PostgreSQL and of reaper, and tables from which the caller or reaper_owner may not delete.';
revoke all on function reaper.add_retention_policy(text, regclass, name, interval, integer, text, boolean) from public;
grant execute on function reaper.add_retention_policy(text, regclass, name, interval, integer, text, boolean) to reaper_ops;
