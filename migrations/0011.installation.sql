-- Creates the identity of this installation, which the marker object .reaper/owner in each bucket names, and what was last found in the
-- buckets. A dump carries both along: a copy is told by its database name or system identifier, which differ from the recorded ones.
-- locks: none on existing tables
-- depends: 0010.settings
create table if not exists reaper.installation (
    only_row           boolean     not null primary key default true constraint installation_has_one_row check (only_row),
    installation_id    uuid        not null,
    database           text        not null,
    system_identifier  bigint      not null,
    recorded_at        timestamptz not null default now()
);
insert into reaper.installation (installation_id, database, system_identifier)
select gen_random_uuid(), current_database(), c.system_identifier from pg_control_system() as c
    on conflict do nothing;

create table if not exists reaper.backend_owners (
    backend            text collate "C" not null primary key,
    state              text        not null constraint backend_owners_state_check check (state in ('ours', 'other')),
    detail             text        not null,
    checked_at         timestamptz not null,
    installation_id    uuid        not null,
    database           text        not null,
    system_identifier  bigint      not null
) with (fillfactor = 50);

comment on table reaper.installation is
    'One row: the identity of this installation, and the database in which it was recorded. Read it with installation_identity(); changed by record_take_over() and renew_installation().';
comment on column reaper.installation.only_row is 'Always true: the table has one row.';
comment on column reaper.installation.installation_id is 'Identity of the installation, made by the migration; the markers in its buckets have it.';
comment on column reaper.installation.database is 'Name of the database when the identity was recorded.';
comment on column reaper.installation.system_identifier is 'System identifier of the PostgreSQL cluster when the identity was recorded.';
comment on column reaper.installation.recorded_at is 'When the identity was recorded.';
comment on table reaper.backend_owners is
    'One row per backend: whose bucket it is, as the marker .reaper/owner said last. Separate from backend_list, so that a comparison makes no writer wait for its row.';
comment on column reaper.backend_owners.backend is 'Name of the backend.';
comment on column reaper.backend_owners.state is 'ours: the marker names this installation in this database. other: it does not; nothing is deleted or stored there.';
comment on column reaper.backend_owners.detail is 'Content of the marker, or what is wrong with it.';
comment on column reaper.backend_owners.checked_at is 'When the marker was compared last; an unchanged result is recorded once a minute.';
comment on column reaper.backend_owners.installation_id is 'Installation that compared; in a copy of the database with another identity the row says nothing.';
comment on column reaper.backend_owners.database is 'Database of the process that compared.';
comment on column reaper.backend_owners.system_identifier is 'PostgreSQL cluster of the process that compared.';
