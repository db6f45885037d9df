do $$
declare
    v_rows bigint := (select count(*) from reaper.put_intents)
                   + (select count(*) from reaper.settings s
                       where s.intent_min_age <> interval '15 minutes' or s.pending_action <> 'commit');
begin
    if v_rows > 0 then
        raise exception sqlstate 'RP007' using
            message = format('dropping the intents would forget %s uploads in flight and settings', v_rows),
            hint    = 'Let the writers end and the pending reaper resolve the rest, then roll back.';
    end if;
end;
$$;
alter table reaper.settings
    drop column if exists pending_action,
    drop column if exists intent_min_age;
drop table reaper.put_intents;
