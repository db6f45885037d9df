do $$
begin
    if exists (select from reaper.settings s where s.wait_for_standby is not null) then
        raise exception sqlstate 'RP007' using
            message = 'settings.wait_for_standby would be forgotten, and deletions would wait for nobody',
            hint    = 'Set it to null, then roll back.';
    end if;
end;
$$;
alter table reaper.settings drop column if exists wait_for_standby;
