-- Drops the table of settings if all values are the defaults.
-- locks: reaper.settings ACCESS EXCLUSIVE, for moments
-- guarded: true
do $$
declare
    v_column   record;
    v_default  boolean;
    v_changed  text[] := '{}';
begin
    for v_column in
        select a.attname as name, coalesce(pg_get_expr(d.adbin, d.adrelid), 'null') as value
          from pg_catalog.pg_attribute a
          left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
         where a.attrelid = 'reaper.settings'::regclass and a.attnum > 0 and not a.attisdropped
           -- What migrate was told, not what a DBA changed.
           and a.attname <> 'queue_schema'
         order by a.attname
    loop
        execute format('select s.%I is not distinct from %s from reaper.settings s', v_column.name, v_column.value) into v_default;
        if not v_default then
            v_changed := v_changed || v_column.name::text;
        end if;
    end loop;
    if v_changed <> '{}' then
        raise exception sqlstate 'RP007' using
            message = format('dropping reaper.settings would lose what was changed in it: %s', array_to_string(v_changed, ', ')),
            hint    = 'Note the values, set them back to their defaults, then roll back.';
    end if;
end;
$$;
drop table reaper.settings;
