-- Drops the queues if they are empty.
-- locks: these tables ACCESS EXCLUSIVE, for moments
do $$
declare
    v_rows bigint := (select count(*) from reaper.cleanup_queue) + (select count(*) from reaper.cleanup_dlq)
                   + (select count(*) from reaper.invalidations) + (select count(*) from reaper.retired_keys);
begin
    if v_rows > 0 then
        raise exception sqlstate 'RP007' using
            message = format('dropping the cleanup tables would lose %s queued deletions', v_rows),
            hint    = 'Let a worker settle them (reaper drain), decide on the DLQ entries, then roll back.';
    end if;
end;
$$;
drop table reaper.retired_keys;
drop table reaper.invalidations;
drop table reaper.cleanup_dlq;
drop table reaper.cleanup_queue;
