-- create_bound_view: make reaper.pastes or reaper.content anew. Columns are plain references, so that PostgreSQL lets rows be written and
-- locked through the view; place is the row's address (ctid), which is valid while the row is locked.
create or replace function reaper_internal.create_bound_view(p_name text)
    returns void
    language plpgsql volatile
as $$
declare
    v_binding  reaper.bindings;
    v_columns  text := (select string_agg(format('%s as %I', c.source, c.column_name), ', ' order by c.place)
                          from reaper_internal.bound_columns(p_name) as c);
begin
    select * into v_binding from reaper.bindings b where b.name = p_name;
    if to_regclass('reaper.' || p_name) is not null then
        execute format('drop view reaper.%I', p_name);
    end if;
    execute format('create view reaper.%I as select %s, t.ctid as place from %s as t', p_name, v_columns, v_binding.bound_table);
    execute format('comment on view reaper.%I is %L', p_name,
                   format('The application''s table %s under the names that reaper uses; made by reaper.bind(), granted to no role.',
                          v_binding.bound_table));
    execute (select string_agg(format('comment on column reaper.%I.%I is %L;', p_name, c.column_name, c.source), ' ')
               from (select b.column_name, b.source || ' of ' || v_binding.bound_table || ' t' as source
                       from reaper_internal.bound_columns(p_name) as b
                     union all
                     select 'place', 'Address of the row (ctid), valid while the row is locked.') as c);
    execute format('revoke all on reaper.%I from public', p_name);
exception when undefined_column or undefined_table or invalid_schema_name then
    raise exception sqlstate 'RP010' using
        message = format('%s cannot be bound as reaper.%s: %s', v_binding.bound_table, p_name, sqlerrm),
        hint    = format('Name the column that it has now, for example: select reaper.bind(%L); or change [tables.%s] in reaper.toml and run reaper migrate.',
                         jsonb_build_object(p_name, jsonb_build_object(case p_name when 'pastes' then 'expires_at' else 'object_key' end, 'its_new_name')), p_name);
end;
$$;
comment on function reaper_internal.create_bound_view(text) is
    'For bind: creates the view reaper.pastes or reaper.content over the bound table. RP010 if the table or a column does not exist.';
revoke all on function reaper_internal.create_bound_view(text) from public;
