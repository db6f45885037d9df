-- Drops the table of retention policies if it is empty.
-- locks: reaper.retention_policies ACCESS EXCLUSIVE, for moments
-- guarded: true
do $$
declare
    v_rows bigint := (select count(*) from reaper.retention_policies);
begin
    if v_rows > 0 then
        raise exception sqlstate 'RP007' using
            message = format('dropping reaper.retention_policies would lose %s policies', v_rows),
            hint    = 'Note them (reaper policy list --json), remove them (reaper policy remove NAME), then roll back.';
    end if;
end;
$$;
drop table reaper.retention_policies;
