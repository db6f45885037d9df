-- retention_problems: every problem that forbids deleting the old rows of a table.
-- Checked at registration, when a policy is enabled, and again before every batch, since tables change.
create or replace function reaper_internal.retention_problems(p_table regclass, p_column name, p_allow_cascade boolean, p_role name)
    returns table (problem text, fix text)
    language plpgsql stable
as $$
begin
    return query select t.problem, t.fix from reaper_internal.table_problems(p_table) as t;
    if found then
        return;
    end if;
    return query
        select c.problem, c.fix from reaper_internal.column_problems(p_table, p_column) as c
        union all
        select l.problem, l.fix from reaper_internal.link_problems(p_table, p_allow_cascade) as l
        union all
        select g.problem, g.fix from reaper_internal.trigger_problems(p_table, p_allow_cascade) as g
        union all
        select r.problem, r.fix from reaper_internal.right_problems(p_table, p_column, p_role) as r;
end;
$$;
comment on function reaper_internal.retention_problems(regclass, name, boolean, name) is
    'Every problem that forbids deleting old rows of a table on behalf of a role, and how to fix each; no row if there is none.';
revoke all on function reaper_internal.retention_problems(regclass, name, boolean, name) from public;
