do $$
declare
    v_rows bigint := (select count(*) from reaper.audit)
                   + (select count(*) from reaper.services s where s.schedule <> s.default_schedule or s.paused_until is not null)
                   + (select count(*) from reaper.settings s
                       where s.drain_slots <> 2 or s.max_snapshot_age is not null
                          or s.max_replica_lag is distinct from interval '30 seconds');
begin
    if v_rows > 0 then
        raise exception sqlstate 'RP007' using
            message = format('dropping the schedule would lose %s audit rows, changed schedules, pauses and settings', v_rows),
            hint    = 'Copy reaper.audit elsewhere and delete it, note and undo the changes, then roll back.';
    end if;
end;
$$;
alter table reaper.workers drop column if exists throttled;
alter table reaper.settings
    drop column if exists max_snapshot_age,
    drop column if exists max_replica_lag,
    drop column if exists drain_slots;
drop table reaper.job_errors;
drop table reaper.audit;
drop table reaper.services;
