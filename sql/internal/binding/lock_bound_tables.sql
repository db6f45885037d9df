-- lock_bound_tables: lock the application's tables before the views that read them. PostgreSQL's ALTER TABLE locks a table and then the views
-- that depend on it; a query locks the view first, so the two would meet in a deadlock. Once held, a table cannot be renamed or lose its foreign key.
-- What cannot be locked is left for binding_problems() to name.
create or replace function reaper_internal.lock_bound_tables(p_names text[])
    returns void
    language plpgsql volatile
as $$
declare
    v_table  text;
begin
    for v_table in select b.bound_table from reaper.bindings b where b.name = any (p_names) order by b.name loop
        begin
            execute format('lock table only %s in row exclusive mode', v_table);
        exception when undefined_table or invalid_schema_name or wrong_object_type or insufficient_privilege then
            null;
        end;
    end loop;
end;
$$;
comment on function reaper_internal.lock_bound_tables(text[]) is
    'For require_binding: locks these bound tables in row exclusive mode, content before pastes, until the transaction ends.';
revoke all on function reaper_internal.lock_bound_tables(text[]) from public;
