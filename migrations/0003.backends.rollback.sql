-- Drops the tables of backends if they hold no copy, no quota and no backend but default.
-- locks: these tables ACCESS EXCLUSIVE, for moments
-- guarded: true
do $$
declare
    v_loss text := (select string_agg(format('%s %s', l.rows, l.what), ', ')
                      from (values ((select count(*) from reaper.object_locations), 'copies of objects'),
                                   ((select count(*) from reaper.backend_list b where b.name <> 'default' or b.quota is not null or b.state <> 'active'), 'backends')) as l (rows, what)
                     where l.rows > 0);
begin
    if v_loss is not null then
        raise exception sqlstate 'RP007' using
            message = format('dropping the backends would lose %s', v_loss),
            hint    = 'Only reaper.object_locations says where these objects lie: move them to backend default under their object_key first, and note the backends.';
    end if;
end;
$$;
drop table reaper.byte_deltas;
drop table reaper.object_locations;
drop table reaper.circuits;
drop table reaper.backend_list;
