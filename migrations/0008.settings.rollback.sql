create temporary table settings_default (like reaper.settings including defaults) on commit drop;
insert into settings_default default values;
do $$
begin
    if exists (table reaper.settings except table settings_default) then
        raise exception sqlstate 'RP007' using
            message = 'dropping reaper.settings would lose 1 changed row',
            hint    = 'Note its values, set them back to their defaults, then roll back.';
    end if;
end;
$$;
drop table reaper.settings;
