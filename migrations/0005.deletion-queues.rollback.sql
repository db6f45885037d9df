-- Drops the queues if they are empty.
-- locks: these tables ACCESS EXCLUSIVE, for moments
-- guarded: true
do $$
declare
    v_loss text := (select string_agg(format('%s %s', l.rows, l.what), ', ')
                      from (values ((select count(*) from reaper.cleanup_queue), 'queued deletions of objects'),
                                   ((select count(*) from reaper.cleanup_dlq), 'DLQ entries'),
                                   ((select count(*) from reaper.invalidations), 'queued deletions of cache entries'),
                                   ((select count(*) from reaper.retired_keys), 'retired object keys')) as l (rows, what)
                     where l.rows > 0);
begin
    if v_loss is not null then
        raise exception sqlstate 'RP007' using
            message = format('dropping the queues would lose %s', v_loss),
            hint    = 'Let a worker settle the queues (reaper drain), decide on the DLQ entries (reaper dlq list), then roll back.';
    end if;
end;
$$;
drop table reaper.retired_keys;
drop table reaper.invalidations;
drop table reaper.cleanup_dlq;
drop table reaper.cleanup_queue;
