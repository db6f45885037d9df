do $$
declare
    v_rows bigint := (select count(*) from reaper.drift where action = 'lowered');
begin
    if v_rows > 0 then
        raise exception sqlstate 'RP007' using
            message = format('the schema before this step cannot hold %s repairs in reaper.drift', v_rows),
            hint    = 'Copy them elsewhere, delete them (action = ''lowered''), then roll back.';
    end if;
end;
$$;
alter table reaper.drift drop constraint drift_action_check;
alter table reaper.drift add constraint drift_action_check check (action in ('raised', 'collected', 'left'));
comment on column reaper.drift.action is
    'raised: set to the true count. collected: too low, but no row is left. left: too high, in doubt leak.';
