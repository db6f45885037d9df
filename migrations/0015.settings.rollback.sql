-- Drops the table of settings if all values are the defaults.
-- locks: reaper.settings ACCESS EXCLUSIVE, for moments
create temporary table settings_default (like reaper.settings including defaults) on commit drop;
insert into settings_default default values;
do $$
declare
    v_changed text := (select string_agg(s.key, ', ' order by s.key)
                         from jsonb_each((select to_jsonb(s) from reaper.settings s)) as s
                         join jsonb_each((select to_jsonb(d) from pg_temp.settings_default d)) as d on d.key = s.key
                        where s.value <> d.value);
begin
    if v_changed is not null then
        raise exception sqlstate 'RP007' using
            message = format('dropping reaper.settings would lose what was changed in it: %s', v_changed),
            hint    = 'Note the values, set them back to their defaults, then roll back.';
    end if;
end;
$$;
drop table reaper.settings;
