-- Drops the index of bad copies.
-- locks: reaper.object_locations SHARE UPDATE EXCLUSIVE, for a moment
-- transactional: false
-- reaper migrate drops the functions first; yoyo would take the index away under those that count by it.
do $$
begin
    if exists (select from reaper.code_files) then
        raise exception sqlstate 'RP007' using
            message = 'functions of schema reaper are loaded that need this index',
            hint    = 'Roll back with: reaper migrate --to ID (or base); it drops the functions first.';
    end if;
end;
$$;
drop index concurrently if exists reaper.object_locations_trouble;
