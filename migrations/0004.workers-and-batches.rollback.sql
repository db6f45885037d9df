-- Drops the tables of workers, batches and blocked rows if no batch is in flight.
-- locks: these tables ACCESS EXCLUSIVE, for moments
-- guarded: true
do $$
declare
    v_rows bigint := (select count(*) from reaper.batches);
begin
    if v_rows > 0 then
        raise exception sqlstate 'RP007' using
            message = format('dropping reaper.batches would lose %s batches with deletions that are still to be made', v_rows),
            hint    = 'Let a worker finish them (reaper drain), then roll back.';
    end if;
end;
$$;
-- No information: the next drain finds every blocked row again.
drop table reaper.blocked;
drop table reaper.batches;
drop table reaper.workers;
