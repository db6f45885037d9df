-- Drops the history if it is empty.
-- locks: these tables ACCESS EXCLUSIVE, for moments
-- guarded: true
do $$
declare
    v_loss text := (select string_agg(format('%s %s', l.rows, l.what), ', ')
                      from (values ((select count(*) from reaper.runs), 'runs'),
                                   ((select count(*) from reaper.drift), 'wrong reference counts that were found')) as l (rows, what)
                     where l.rows > 0);
begin
    if v_loss is not null then
        raise exception sqlstate 'RP007' using
            message = format('dropping the history would lose %s', v_loss),
            hint    = 'Copy reaper.runs and reaper.drift elsewhere, delete their rows, then roll back.';
    end if;
end;
$$;
drop table reaper.unreferenced_scan;
drop table reaper.stray_scan;
drop sequence reaper.refusals;
drop table reaper.drift;
drop table reaper.runs;
