-- Drops the identity of the installation if no bucket has a marker with it.
-- locks: these tables ACCESS EXCLUSIVE, for moments
-- guarded: true
do $$
declare
    v_backends text := (select string_agg(o.backend, ', ' order by o.backend)
                          from reaper.backend_owners o
                          join reaper.installation i on i.installation_id = o.installation_id
                         where o.state = 'ours');
begin
    if v_backends is not null then
        raise exception sqlstate 'RP007' using
            message = format('dropping the identity would lose what the markers in these buckets name: %s', v_backends),
            hint    = 'Delete .reaper/owner in these buckets and the rows of reaper.backend_owners, then roll back.';
    end if;
end;
$$;
-- reaper migrate drops the functions first; yoyo would take the tables away under them.
do $$
begin
    if exists (select from reaper.code_files) then
        raise exception sqlstate 'RP007' using
            message = 'functions of schema reaper are loaded that need these tables',
            hint    = 'Roll back with: reaper migrate --to ID (or base); it drops the functions first.';
    end if;
end;
$$;
drop table reaper.backend_owners;
drop table reaper.installation;
