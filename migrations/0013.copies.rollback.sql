-- Drops the tables of copies if no copy is being made and no backend is drained; wants and plans are found anew.
-- locks: reaper.object_locations, reaper.circuits, reaper.backend_list, reaper.settings and these tables ACCESS EXCLUSIVE, for moments
-- guarded: true
do $$
declare
    v_loss text := (select string_agg(format('%s %s', l.rows, l.what), ', ')
                      from (values ((select count(*) from reaper.copy_intents), 'copies that are being made'),
                                   ((select count(*) from reaper.object_locations l where l.trouble is not null), 'copies that are missing or corrupt'),
                                   ((select count(*) from reaper.backend_list b where b.state = 'draining'), 'backends that are drained')) as l (rows, what)
                     where l.rows > 0);
begin
    if v_loss is not null then
        raise exception sqlstate 'RP007' using
            message = format('dropping the tables of copies would lose %s', v_loss),
            hint    = 'Pause the replicator, let the pending reaper end its copies, make each backend active or readonly, and repair or remove bad copies; then roll back.';
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
drop table reaper.copy_sweep;
drop table reaper.copy_moves;
drop table reaper.copy_excess;
drop table reaper.copy_wants;
drop table reaper.copy_intents;
alter table reaper.settings
    drop column if exists replication_factor,
    drop column if exists unhealthy_after,
    drop column if exists verify_copies,
    drop column if exists rebalance_strategy,
    drop column if exists rebalance_threshold,
    drop column if exists readers_use_doors,
    drop column if exists content_digest;
alter table reaper.backend_list drop constraint backend_list_state_check;
alter table reaper.backend_list add constraint backend_list_state_check check (state in ('active', 'readonly'));
comment on column reaper.backend_list.state is 'active: new objects are stored there. readonly: stored objects are read and deleted, no new ones are stored.';
alter table reaper.circuits drop column if exists failing_since;
alter table reaper.object_locations
    drop column if exists verified_at,
    drop column if exists trouble,
    drop column if exists trouble_at;
