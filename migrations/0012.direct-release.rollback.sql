-- Drops the setting of the claim mode, and the types of a release; rows that were released directly need nothing.
-- locks: reaper.settings ACCESS EXCLUSIVE, for a moment
-- reaper migrate drops the functions first; yoyo would take the types away under them.
do $$
begin
    if exists (select from reaper.code_files) then
        raise exception sqlstate 'RP007' using
            message = 'functions of schema reaper are loaded that need these types',
            hint    = 'Roll back with: reaper migrate --to ID (or base); it drops the functions first.';
    end if;
end;
$$;
drop type reaper.released_objects;
drop type reaper.release;
drop type reaper.locked_contents;
drop type reaper.locked_pastes;
alter table reaper.settings drop column if exists claim_mode;
