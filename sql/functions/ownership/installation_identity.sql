-- installation_identity: who this database is now, and whether that is what was recorded. A dump or a moved database has the recorded
-- values of the former place: they differ from what the server says of itself.
create or replace function reaper.installation_identity()
    returns table (
        installation_id             uuid,
        database                    text,
        system_identifier           bigint,
        is_recorded_here            boolean,
        recorded_database           text,
        recorded_system_identifier  bigint,
        recorded_at                 timestamptz
    )
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select i.installation_id,
           current_database()::text,
           c.system_identifier,
           coalesce((i.database, i.system_identifier) = (current_database()::text, c.system_identifier), false),
           i.database,
           i.system_identifier,
           i.recorded_at
      from pg_control_system() as c
      left join reaper.installation i on true;
$$;
comment on function reaper.installation_identity() is
    'One row: the installation, the database and the system identifier of its PostgreSQL as they are now, and as they were recorded. '
    'is_recorded_here is false in a copy (a restored dump, a database made from a template) and after a move to another server or name.';
revoke all on function reaper.installation_identity() from public;
grant execute on function reaper.installation_identity() to reaper_worker, reaper_app, reaper_ops, reaper_ro;
