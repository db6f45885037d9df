-- Drops the tables of services if no schedule was changed, no service is paused, and neither audit nor errors of jobs are recorded.
-- locks: these tables ACCESS EXCLUSIVE, for moments
-- guarded: true
do $$
declare
    v_loss text := (select string_agg(format('%s %s', l.rows, l.what), ', ')
                      from (values ((select count(*) from reaper.audit), 'audit entries'),
                                   ((select count(*) from reaper.services s where s.schedule <> s.default_schedule), 'changed schedules'),
                                   ((select count(*) from reaper.services s where s.paused_until is not null), 'pauses'),
                                   ((select count(*) from reaper.job_errors), 'errors of jobs')) as l (rows, what)
                     where l.rows > 0);
begin
    if v_loss is not null then
        raise exception sqlstate 'RP007' using
            message = format('dropping the schedule would lose %s', v_loss),
            hint    = 'Copy reaper.audit and reaper.job_errors elsewhere and delete their rows, note and undo changed schedules and pauses, then roll back.';
    end if;
end;
$$;
drop table reaper.job_errors;
drop table reaper.audit;
drop table reaper.services;
