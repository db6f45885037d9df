-- Drops the tables of services if no schedule was changed, no service is paused and the audit is empty.
-- locks: these tables ACCESS EXCLUSIVE, for moments
do $$
declare
    v_rows bigint := (select count(*) from reaper.audit)
                   + (select count(*) from reaper.services s where s.schedule <> s.default_schedule or s.paused_until is not null);
begin
    if v_rows > 0 then
        raise exception sqlstate 'RP007' using
            message = format('dropping the schedule would lose %s audit rows, changed schedules and pauses', v_rows),
            hint    = 'Copy reaper.audit elsewhere and delete it, note and undo the changes, then roll back.';
    end if;
end;
$$;
drop table reaper.job_errors;
drop table reaper.audit;
drop table reaper.services;
