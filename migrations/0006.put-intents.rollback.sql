-- Drops the table of put intents if it is empty.
-- locks: reaper.put_intents ACCESS EXCLUSIVE, for moments
-- guarded: true
do $$
declare
    v_rows bigint := (select count(*) from reaper.put_intents);
begin
    if v_rows > 0 then
        raise exception sqlstate 'RP007' using
            message = format('dropping reaper.put_intents would forget %s uploads in flight', v_rows),
            hint    = 'Let the writers end and the pending reaper resolve the rest, then roll back.';
    end if;
end;
$$;
drop table reaper.put_intents;
