-- plan_policy: what a policy would delete, before it is enabled: how many rows, in how many batches, by which plan.
-- The settings are those of purge_aged, so the plan is the one that a purge would use.
create or replace function reaper.plan_policy(p_name text)
    returns table (
        cutoff timestamptz, rows_aged bigint, rows_total bigint, share numeric, batches bigint,
        rows_per_second numeric, speed_is_measured boolean, seconds numeric, statement text, plan text
    )
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set timezone = 'UTC'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_hashjoin = off
    set enable_mergejoin = off
    set enable_sort = off
    set jit = off
as $$
declare
    c_assumed constant numeric := 5000;
    v_policy  reaper.retention_policies := reaper_internal.require_known_policy(p_name);
    v_line    text;
begin
    perform reaper_internal.require_policy(p_name);
    cutoff := reaper.clock() - v_policy.max_age;
    execute format('select count(*) from %I.%I t where t.%I < %s', v_policy.table_schema, v_policy.table_name, v_policy.column_name,
                   reaper_internal.cutoff_expression(v_policy.table_oid, v_policy.column_name))
       into rows_aged using cutoff;
    rows_total := greatest(reaper_internal.estimate_rows(v_policy.table_oid), rows_aged);
    share := round(rows_aged / greatest(rows_total, 1)::numeric, 4);
    batches := ceil(rows_aged / v_policy.batch_limit::numeric);
    speed_is_measured := v_policy.rows_per_second is not null;
    rows_per_second := coalesce(v_policy.rows_per_second, c_assumed);
    seconds := round(rows_aged / rows_per_second, 1);
    statement := reaper_internal.purge_statement(v_policy.table_oid, v_policy.column_name);
    for v_line in execute 'explain ' || statement using cutoff, v_policy.batch_limit loop
        plan := concat_ws(E'\n', plan, v_line);
    end loop;
    return next;
end;
$$;
comment on function reaper.plan_policy(text) is
    'What a policy would delete now, enabled or not: rows, share of the table, batches, seconds at the speed of its last purge (5000 rows a second before the first), '
    'the statement of a batch and its plan. Reads every aged entry of the index once; changes nothing.';
revoke all on function reaper.plan_policy(text) from public;
grant execute on function reaper.plan_policy(text) to reaper_ops, reaper_ro;
