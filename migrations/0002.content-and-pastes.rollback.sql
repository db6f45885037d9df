-- Drops content and pastes if reaper created them and they are empty. Tables of the application are released by other steps.
-- locks: pastes and content ACCESS EXCLUSIVE, for moments
-- guarded: true
do $$
declare
    v_table  text;
    v_rows   bigint;
    v_loss   text[] := '{}';
begin
    for v_table in
        select p.table_name from reaper.provenance p where p.kind = 'table' order by p.table_name desc
    loop
        execute format('select count(*) from %s', v_table) into v_rows;
        if v_rows > 0 then
            v_loss := v_loss || format('%s rows of %s', v_rows, v_table);
        end if;
    end loop;
    if v_loss <> '{}' then
        raise exception sqlstate 'RP007' using
            message = format('dropping the tables that reaper created would lose %s', array_to_string(v_loss, ' and ')),
            hint    = 'Move the rows elsewhere first, or stay on this release.';
    end if;
end;
$$;
do $$
declare
    v_table text;
begin
    for v_table in
        select p.table_name from reaper.provenance p where p.kind = 'table' order by p.table_name desc  -- pastes before content
    loop
        execute format('drop table %s', v_table);
    end loop;
    delete from reaper.bindings b where b.bound_table in (select p.table_name from reaper.provenance p where p.kind = 'table');
    delete from reaper.provenance p where p.kind = 'table';
end;
$$;
