-- Drops the tables of the comparison with the backends, unless a name is retired for a deletion or a backend is not on report; sightings and
-- suspects are found anew.
-- locks: reaper.put_intents, reaper.settings and these tables ACCESS EXCLUSIVE, for moments
-- guarded: true
do $$
declare
    v_loss text := (select string_agg(format('%s %s', l.rows, l.what), ', ')
                      from (values ((select count(*) from reaper.sightings s where s.retired_at is not null), 'names of objects that are about to be deleted'),
                                   ((select count(*) from reaper.reconciliations r where r.untracked <> 'report'), 'orders to import or delete untracked objects')) as l (rows, what)
                     where l.rows > 0);
begin
    if v_loss is not null then
        raise exception sqlstate 'RP007' using
            message = format('dropping the tables of integrity would lose %s', v_loss),
            hint    = 'Let the service cleanup_queue run, note the backends (select * from reaper.integrity) and call reaper.set_untracked(backend, ''report''); then roll back.';
    end if;
end;
$$;
drop table reaper.suspects;
drop table reaper.sightings;
drop table reaper.reconciliations;
alter table reaper.settings
    drop column if exists missing_brake,
    drop column if exists corrupt_brake,
    drop column if exists scrub_bytes_per_day,
    drop column if exists scrub_every,
    drop column if exists multipart_max_age;
alter table reaper.put_intents drop column if exists upload_id;
