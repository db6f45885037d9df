-- require_lifecycle_index: refuse with the CREATE INDEX CONCURRENTLY that helps, before a pass reads the whole table.
create or replace function reaper_internal.require_lifecycle_index(p_name text)
    returns void
    language plpgsql stable
as $$
begin
    perform reaper_internal.require_no_rule_problems(p_name, array_agg(p.problem), array_agg(p.fix)) from reaper.lifecycle_problems() as p;
end;
$$;
comment on function reaper_internal.require_lifecycle_index(text) is
    'Raises RP005, with the statements that help, while lifecycle rules cannot be applied to the bound table.';
revoke all on function reaper_internal.require_lifecycle_index(text) from public;
