-- record_installation: record that the installation is this database on this server, under a new id or under the one that it has.
create or replace function reaper_internal.record_installation(p_new_id uuid)
    returns reaper.installation
    language sql volatile
as $$
    insert into reaper.installation as i (installation_id, database, system_identifier, recorded_at)
    select coalesce(p_new_id, n.installation_id, gen_random_uuid()), n.database, n.system_identifier, reaper.clock()
      from reaper.installation_identity() as n
        on conflict (only_row) do update
       set installation_id   = excluded.installation_id,
           database          = excluded.database,
           system_identifier = excluded.system_identifier,
           recorded_at       = excluded.recorded_at
    returning i.*;
$$;
comment on function reaper_internal.record_installation(uuid) is
    'Records the current database and system identifier as those of the installation; null keeps the installation id.';
revoke all on function reaper_internal.record_installation(uuid) from public;
