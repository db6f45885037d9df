-- Creates the tables of backends: where bytes lie, how many, and which of these places answer. One row per backend, one row per copy of an object, and byte
-- accounts that are only ever added to: one hot account row would make all writers wait for each other.
-- locks: none on existing tables
-- depends: 0007.index-object-keys
create table if not exists reaper.backend_list (
    name              text collate "C" not null primary key constraint backend_list_name_check
                                       check (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
    quota             bigint      constraint backend_list_quota_check check (quota >= 0),
    configured_quota  bigint,
    state             text        not null default 'active' constraint backend_list_state_check
                                  check (state in ('active', 'readonly')),
    registered_at     timestamptz not null default now()
) with (fillfactor = 50);
insert into reaper.backend_list (name) values ('default') on conflict do nothing;

create table if not exists reaper.circuits (
    backend           text collate "C" not null primary key,
    state             text        not null default 'closed' constraint circuits_state_check
                                  check (state in ('closed', 'open', 'half_open')),
    failures          integer     not null default 0,
    trips             integer     not null default 0,
    last_error        text,
    changed_at        timestamptz not null,
    retry_at          timestamptz,
    probe             uuid,
    probe_started_at  timestamptz,
    constraint circuits_open_has_a_time check (state = 'closed' or retry_at is not null),
    constraint circuits_half_open_has_a_probe check ((state = 'half_open') = (probe is not null and probe_started_at is not null))
) with (fillfactor = 50);

create table if not exists reaper.object_locations (
    content_hash  text collate "C" not null,
    backend       text collate "C" not null,
    object_key    text collate "C" not null,
    size_bytes    bigint      not null constraint object_locations_size_check check (size_bytes >= 0),
    created_at    timestamptz not null,
    primary key (content_hash, backend),
    constraint object_locations_object_key unique (backend, object_key)
);

create table if not exists reaper.byte_deltas (
    delta_id        bigint  generated always as identity primary key,
    backend         text collate "C" not null,
    used_bytes      numeric not null default 0,
    orphan_bytes    numeric not null default 0,
    reserved_bytes  numeric not null default 0
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create index if not exists byte_deltas_backend on reaper.byte_deltas (backend) include (used_bytes, orphan_bytes, reserved_bytes);

comment on table reaper.backend_list is 'Every place where objects lie: one bucket each. Read it through the view reaper.backends; change it with register_backend(), set_quota() and set_backend_state().';
comment on column reaper.backend_list.name is 'As in reaper.toml; the one that comes from REAPER_S3_BUCKET is called default.';
comment on column reaper.backend_list.quota is 'How many bytes may lie there, orphans and reservations included; null = as many as come.';
comment on column reaper.backend_list.configured_quota is 'What the configuration says; where quota differs, somebody changed it with set_quota().';
comment on column reaper.backend_list.state is 'active: new objects go there. readonly: what lies there is read and deleted, nothing new comes.';
comment on column reaper.backend_list.registered_at is 'When it was first seen.';
comment on table reaper.circuits is 'Which backends answer, as all processes together found out; no row = never any trouble. Kept apart from backend_list, so that a sick backend makes no writer wait.';
comment on column reaper.circuits.backend is 'The backend.';
comment on column reaper.circuits.state is 'closed: in use. open: left alone until retry_at. half_open: one probe is on its way.';
comment on column reaper.circuits.failures is 'Failures in a row; settings.circuit_failures of them open the circuit.';
comment on column reaper.circuits.trips is 'How often in a row it opened without a success between; the pause doubles with each.';
comment on column reaper.circuits.last_error is 'The last failure.';
comment on column reaper.circuits.changed_at is 'When the state changed last.';
comment on column reaper.circuits.retry_at is 'When the next probe may go; null while closed.';
comment on column reaper.circuits.probe is 'The token of the probe that is on its way: only with it the probe can be settled.';
comment on column reaper.circuits.probe_started_at is 'When it went; after two minutes it counts as lost.';
comment on table reaper.object_locations is 'One row per copy of a content''s object. Content without a row lies on backend default under its object_key (or its hash), and is in no byte account: an application wrote it by itself.';
comment on column reaper.object_locations.content_hash is 'The content; its row is locked by whoever adds or removes a copy.';
comment on column reaper.object_locations.backend is 'Where the copy lies.';
comment on column reaper.object_locations.object_key is 'Its immutable name there.';
comment on column reaper.object_locations.size_bytes is 'Its bytes, counted in bytes_used.';
comment on column reaper.object_locations.created_at is 'When the copy became known.';
comment on table reaper.byte_deltas is 'The byte accounts: their balance is the sum per backend. Rows are only added, and folded into one now and then.';
comment on column reaper.byte_deltas.delta_id is 'Order.';
comment on column reaper.byte_deltas.backend is 'The backend.';
comment on column reaper.byte_deltas.used_bytes is 'Change of the bytes of copies in object_locations.';
comment on column reaper.byte_deltas.orphan_bytes is 'Change of the bytes whose deletion is owed: released batches, cleanup_queue and cleanup_dlq.';
comment on column reaper.byte_deltas.reserved_bytes is 'Change of the bytes that put intents have reserved.';
