-- Creates the tables of backends: one row per backend, one row per copy of an object, one circuit per failing backend, and byte accounts.
-- An account is the sum of inserted rows: a single updated row per backend would make all writers wait for each other.
-- locks: none on existing tables
-- depends: 0002.content-and-pastes
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

comment on table reaper.backend_list is
    'One row per backend (a bucket that stores objects). Read it through the view reaper.backends; change it with register_backend(), set_quota() and set_backend_state().';
comment on column reaper.backend_list.name is 'Name of the backend as in reaper.toml; the one configured by REAPER_S3_BUCKET is called default.';
comment on column reaper.backend_list.quota is 'Maximum number of bytes on the backend, orphans and reservations included; null = no limit.';
comment on column reaper.backend_list.configured_quota is 'Quota in the configuration; it differs from quota after set_quota().';
comment on column reaper.backend_list.state is 'active: new objects are stored there. readonly: stored objects are read and deleted, no new ones are stored.';
comment on column reaper.backend_list.registered_at is 'When the backend was registered first.';
comment on table reaper.circuits is
    'Circuit breaker of each backend, shared by all processes; no row = no failure so far. Separate from backend_list, so that a failing backend makes no writer wait for its row.';
comment on column reaper.circuits.backend is 'Name of the backend.';
comment on column reaper.circuits.state is 'closed: in use. open: no requests until retry_at. half_open: one probe request is running.';
comment on column reaper.circuits.failures is 'Consecutive failures; settings.circuit_failures of them open the circuit.';
comment on column reaper.circuits.trips is 'How often the circuit opened since the last success; the pause doubles each time.';
comment on column reaper.circuits.last_error is 'Text of the last failure.';
comment on column reaper.circuits.changed_at is 'When state last changed.';
comment on column reaper.circuits.retry_at is 'Earliest time of the next probe; null while closed.';
comment on column reaper.circuits.probe is 'Token of the running probe; finish_probe needs it.';
comment on column reaper.circuits.probe_started_at is 'When the running probe started; after two minutes it counts as lost.';
comment on table reaper.object_locations is
    'One row per stored copy of a content. Content without a row is one object on backend default under its object_key (or its hash), stored by the application itself and counted in no byte account.';
comment on column reaper.object_locations.content_hash is 'Hash of the content; its content row is locked while a copy is added or removed.';
comment on column reaper.object_locations.backend is 'Backend that stores the copy.';
comment on column reaper.object_locations.object_key is 'Object key of the copy on that backend; never changes.';
comment on column reaper.object_locations.size_bytes is 'Size of the copy in bytes, counted in backends.bytes_used.';
comment on column reaper.object_locations.created_at is 'When the copy was recorded.';
comment on table reaper.byte_deltas is
    'The byte accounts: the balance of a backend is the sum of its rows. Rows are only inserted; fold_accounts() replaces many by their sum.';
comment on column reaper.byte_deltas.delta_id is 'Ascending number of the row.';
comment on column reaper.byte_deltas.backend is 'Name of the backend.';
comment on column reaper.byte_deltas.used_bytes is 'Change in bytes of copies in object_locations.';
comment on column reaper.byte_deltas.orphan_bytes is 'Change in bytes queued for deletion: released batches, cleanup_queue and cleanup_dlq.';
comment on column reaper.byte_deltas.reserved_bytes is 'Change in bytes reserved by put intents.';
