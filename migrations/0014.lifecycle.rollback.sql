-- Drops the table of lifecycle rules if it is empty.
-- locks: reaper.lifecycle_rules ACCESS EXCLUSIVE, for moments
-- guarded: true
do $$
declare
    v_rows bigint := (select count(*) from reaper.lifecycle_rules);
begin
    if v_rows > 0 then
        raise exception sqlstate 'RP007' using
            message = format('dropping reaper.lifecycle_rules would lose %s lifecycle rules', v_rows),
            hint    = 'Note them (reaper lifecycle list --json), remove them (reaper lifecycle remove NAME), then roll back.';
    end if;
end;
$$;
drop table reaper.lifecycle_rules;
