-- key_of_row: the object key of a row that the guard looks at. The trigger lists the column of the hash first, then that of the key; a key
-- that is an expression is read through reaper.content, where the new row is visible by now.
create or replace function reaper_internal.key_of_row(p_table oid, p_trigger name, p_made_by text, p_row jsonb)
    returns text
    language plpgsql stable
as $$
declare
    v_values text[] := array(select p_row ->> a.attname
                               from pg_catalog.pg_trigger t
                              cross join unnest(t.tgattr) with ordinality as k (attnum, place)
                               join pg_catalog.pg_attribute a on a.attrelid = t.tgrelid and a.attnum = k.attnum
                              where t.tgrelid = p_table and t.tgname = p_trigger
                              order by k.place);
begin
    if p_made_by = 'column' then
        return coalesce(v_values[2], v_values[1]);
    end if;
    return (select coalesce(c.object_key, c.content_hash) from reaper.content c where c.content_hash = v_values[1]);
exception when undefined_table then
    raise exception sqlstate 'RP010' using
        message = 'reaper.content does not exist: the tables are unbound, and whether this object is queued for deletion cannot be told',
        hint    = 'Run: select reaper.bind();';
end;
$$;
comment on function reaper_internal.key_of_row(oid, name, text, jsonb) is
    'For require_free_key: the object key of a row of the bound content table.';
revoke all on function reaper_internal.key_of_row(oid, name, text, jsonb) from public;
