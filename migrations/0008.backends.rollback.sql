-- Drops the tables of backends if they hold no copy, no quota and no backend but default.
-- locks: these tables ACCESS EXCLUSIVE, for moments
do $$
declare
    v_rows bigint := (select count(*) from reaper.object_locations)
                   + (select count(*) from reaper.backend_list b where b.name <> 'default' or b.quota is not null or b.state <> 'active');
begin
    if v_rows > 0 then
        raise exception sqlstate 'RP007' using
            message = format('dropping the backends would lose %s copies and backends', v_rows),
            hint    = 'Only object_locations says where these objects lie: move them to backend default under their object_key first.';
    end if;
end;
$$;
drop table reaper.byte_deltas;
drop table reaper.object_locations;
drop table reaper.circuits;
drop table reaper.backend_list;
