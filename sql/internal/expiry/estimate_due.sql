-- estimate_due: the planner's number of pastes that expire from p_from to p_until. Statistics may still count what was drained before p_from.
create or replace function reaper_internal.estimate_due(p_from timestamptz, p_until timestamptz)
    returns bigint
    language plpgsql volatile
as $$
declare
    v_plan  json;
begin
    execute format('explain (format json) select from reaper.pastes p where p.expires_at >= %L and p.expires_at <= %L', p_from, p_until) into v_plan;
    return (v_plan -> 0 -> 'Plan' ->> 'Plan Rows')::bigint;
end;
$$;
comment on function reaper_internal.estimate_due(timestamptz, timestamptz) is
    'For estimate_drain: number of pastes that expire between two times, by the statistics of the table.';
revoke all on function reaper_internal.estimate_due(timestamptz, timestamptz) from public;
