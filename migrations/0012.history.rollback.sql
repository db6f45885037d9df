-- Drops the history if it is empty.
-- locks: these tables ACCESS EXCLUSIVE, for moments
do $$
declare
    v_rows bigint := (select count(*) from reaper.runs) + (select count(*) from reaper.drift);
begin
    if v_rows > 0 then
        raise exception sqlstate 'RP007' using
            message = format('dropping the history would lose %s rows of reaper.runs and reaper.drift', v_rows),
            hint    = 'Copy them elsewhere, delete them, then roll back.';
    end if;
end;
$$;
drop table reaper.unreferenced_scan;
drop table reaper.stray_scan;
drop sequence reaper.refusals;
drop table reaper.drift;
drop table reaper.runs;
