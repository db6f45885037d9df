-- estimate_rows: number of rows of a table: counted up to a million, beyond that estimated by the planner.
create or replace function reaper_internal.estimate_rows(p_table regclass)
    returns bigint
    language plpgsql volatile
as $$
declare
    v_plan  json;
    v_rows  bigint;
begin
    execute format('explain (format json) select from %s', p_table) into v_plan;
    v_rows := (v_plan -> 0 -> 'Plan' ->> 'Plan Rows')::bigint;
    if v_rows < 1000000 then
        execute format('select count(*) from %s', p_table) into v_rows;
    end if;
    return v_rows;
end;
$$;
comment on function reaper_internal.estimate_rows(regclass) is
    'Number of rows of a table; beyond a million the planner''s estimate.';
revoke all on function reaper_internal.estimate_rows(regclass) from public;
