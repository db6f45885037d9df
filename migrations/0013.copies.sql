-- Adds what services of copies need: the condition of each copy, intents and wants of copies, excess copies, planned moves, the cursor of the
-- sweep, since when a backend fails, backends that are drained, and settings.
-- locks: reaper.object_locations, reaper.circuits, reaper.backend_list and reaper.settings ACCESS EXCLUSIVE, for a moment
-- depends: 0012.direct-release
alter table reaper.object_locations
    add column if not exists verified_at timestamptz,
    add column if not exists trouble     text,
    add column if not exists trouble_at  timestamptz;
alter table reaper.circuits add column if not exists failing_since timestamptz;
-- Validated at once: only a database that stayed at 0012 would have rows to read, and no release ends there.
do $$
begin
    if not exists (select from pg_catalog.pg_constraint k where k.conname = 'object_locations_trouble_check') then
        alter table reaper.object_locations add constraint object_locations_trouble_check
            check ((trouble is null) = (trouble_at is null) and trouble in ('missing', 'corrupt'));
    end if;
end;
$$;
update reaper.circuits c set failing_since = c.changed_at where c.state <> 'closed' and c.failing_since is null;
-- A handful of rows: they are read in no time.
-- squawk-ignore ban-drop-constraint
alter table reaper.backend_list drop constraint backend_list_state_check;
-- squawk-ignore constraint-missing-not-valid
alter table reaper.backend_list add constraint backend_list_state_check check (state in ('active', 'readonly', 'draining'));

create table if not exists reaper.copy_intents (
    intent_id         uuid             not null primary key,
    content_hash      text collate "C" not null,
    purpose           text             not null constraint copy_intents_purpose_check
                                       check (purpose in ('replicate', 'move', 'repair')),
    source            text collate "C" not null,
    source_key        text collate "C" not null,
    destination       text collate "C" not null,
    object_key        text collate "C" not null,
    size_bytes        bigint           constraint copy_intents_size_check check (size_bytes >= 0),
    replaces_backend  text collate "C",
    replaces_key      text collate "C",
    begun_at          timestamptz      not null,
    lease             uuid             not null,
    lease_until       timestamptz      not null,
    upload_id         text,
    constraint copy_intents_object_key unique (destination, object_key),
    constraint copy_intents_content unique (content_hash, destination),
    constraint copy_intents_replaces_check check ((replaces_backend is null) = (replaces_key is null))
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create index if not exists copy_intents_lease on reaper.copy_intents (lease);
create index if not exists copy_intents_lease_until on reaper.copy_intents (lease_until);

create table if not exists reaper.copy_wants (
    content_hash  text collate "C" not null primary key,
    good          integer          not null,
    reason        text             not null constraint copy_wants_reason_check
                                   check (reason in ('few', 'missing', 'corrupt', 'draining')),
    queued_at     timestamptz      not null,
    attempts      integer          not null default 0,
    last_error    text,
    next_attempt  timestamptz      not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
-- The most endangered first: by the number of good copies, each number in the order of time.
create index if not exists copy_wants_due on reaper.copy_wants (good, next_attempt);

create table if not exists reaper.copy_excess (
    content_hash  text collate "C" not null primary key,
    queued_at     timestamptz      not null,
    attempts      integer          not null default 0,
    last_error    text,
    next_attempt  timestamptz      not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create index if not exists copy_excess_due on reaper.copy_excess (next_attempt);

create table if not exists reaper.copy_moves (
    content_hash  text collate "C" not null primary key,
    source        text collate "C" not null,
    destination   text collate "C" not null,
    size_bytes    bigint           not null,
    planned_at    timestamptz      not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

create table if not exists reaper.copy_sweep (
    only_row     boolean     not null primary key default true constraint copy_sweep_has_one_row check (only_row),
    fingerprint  text        not null,
    after_hash   text        not null default '',
    started_at   timestamptz,
    finished_at  timestamptz,
    looked_at    bigint      not null default 0,
    wanted       bigint      not null default 0
);
insert into reaper.copy_sweep (fingerprint, finished_at) values ('1||', now()) on conflict do nothing;

alter table reaper.settings
    add column if not exists replication_factor integer not null default 1 constraint settings_replication_factor_check
                             check (replication_factor between 1 and 16),
    add column if not exists unhealthy_after interval not null default '10 minutes' constraint settings_unhealthy_after_check
                             check (unhealthy_after between interval '1 second' and interval '30 days'),
    add column if not exists verify_copies boolean not null default true,
    add column if not exists rebalance_strategy text not null default 'spread' constraint settings_rebalance_strategy_check
                             check (rebalance_strategy in ('spread', 'pack')),
    add column if not exists rebalance_threshold numeric not null default 0.1 constraint settings_rebalance_threshold_check
                             check (rebalance_threshold between 0.01 and 0.9),
    add column if not exists readers_use_doors boolean not null default false,
    add column if not exists content_digest text not null default 'unknown' constraint settings_content_digest_check
                             check (content_digest in ('sha256', 'unknown'));
-- Tables that reaper created hold what its doors were given; in an adopted table 64 digits may be any hash, also of encrypted bytes.
do $$
begin
    if exists (select from reaper.bindings b
                 join reaper.provenance p on p.kind = 'table' and p.table_name = b.bound_table
                where b.name = 'content')
    then
        alter table reaper.settings alter column content_digest set default 'sha256';
        update reaper.settings set content_digest = 'sha256';
    end if;
end;
$$;
grant update (replication_factor, unhealthy_after, verify_copies, rebalance_strategy, rebalance_threshold, readers_use_doors, content_digest)
    on reaper.settings to reaper_ops;

comment on column reaper.object_locations.verified_at is 'When the bytes of the copy were last compared, or stored with a checksum; null = never.';
comment on column reaper.object_locations.trouble is 'missing: the object was not found. corrupt: its bytes are wrong. null: a good copy as far as is known.';
comment on column reaper.object_locations.trouble_at is 'When the trouble was recorded; null without trouble.';
comment on column reaper.circuits.failing_since is 'When the circuit opened after it was last closed; null while it is closed. Unlike changed_at, probes do not move it.';
comment on column reaper.backend_list.state is
    'active: new objects are stored there. readonly: stored objects are read and deleted, no new ones are stored. draining: likewise, and all copies are moved to other backends.';
comment on table reaper.copy_intents is
    'Copies that were begun and not ended: committed before the first byte is stored, so that no object is without a row. drop_stale_copies() ends those whose process died.';
comment on column reaper.copy_intents.intent_id is 'Random identifier of the copy.';
comment on column reaper.copy_intents.content_hash is 'Hash of the content that is copied.';
comment on column reaper.copy_intents.purpose is
    'replicate: one more copy. move: the copy named by replaces_* is removed when this one is stored. repair: likewise, that copy is missing or corrupt.';
comment on column reaper.copy_intents.source is 'Backend that was the first choice to read from when the intent was made.';
comment on column reaper.copy_intents.source_key is 'Object key of the copy there.';
comment on column reaper.copy_intents.destination is 'Backend that will store the copy.';
comment on column reaper.copy_intents.object_key is 'Random key of the new object; only this intent ever names it.';
comment on column reaper.copy_intents.size_bytes is 'Size of the content, reserved on the destination; null = unknown, nothing is reserved.';
comment on column reaper.copy_intents.replaces_backend is 'Backend of the copy that is replaced; null = none is.';
comment on column reaper.copy_intents.replaces_key is 'Object key of the copy that is replaced; a copy with another key is not touched.';
comment on column reaper.copy_intents.begun_at is 'When the intent was committed.';
comment on column reaper.copy_intents.lease is 'Token of the process that copies; commit_copy() and fail_copy() need it.';
comment on column reaper.copy_intents.lease_until is 'When the lease ends unless extend_copies() extends it.';
comment on column reaper.copy_intents.upload_id is 'Identifier of the multipart upload to object_key; null = none was begun.';
comment on table reaper.copy_wants is 'Contents with too few good copies, one row each. claim_copies() takes the most endangered that are due.';
comment on column reaper.copy_wants.content_hash is 'Hash of the content.';
comment on column reaper.copy_wants.good is 'Number of good, readable copies when the row was written; 0 = none, nothing can be copied.';
comment on column reaper.copy_wants.reason is 'few: fewer copies than settings.replication_factor. missing, corrupt: a copy is in trouble. draining: a copy is on a backend that is drained.';
comment on column reaper.copy_wants.queued_at is 'When the content was first wanted.';
comment on column reaper.copy_wants.attempts is 'Number of failed attempts.';
comment on column reaper.copy_wants.last_error is 'Error of the last attempt, such as: no backend has room.';
comment on column reaper.copy_wants.next_attempt is 'Earliest time of the next attempt.';
comment on table reaper.copy_excess is 'Contents that may have more copies than they need, one row each. claim_excess() judges them anew.';
comment on column reaper.copy_excess.content_hash is 'Hash of the content.';
comment on column reaper.copy_excess.queued_at is 'When the content was first entered.';
comment on column reaper.copy_excess.attempts is 'How often no copy could be removed.';
comment on column reaper.copy_excess.last_error is 'Why no copy was removed.';
comment on column reaper.copy_excess.next_attempt is 'Earliest time of the next look.';
comment on table reaper.copy_moves is 'What the rebalancer has planned and not begun, one row per content. claim_moves() plans anew when none is left.';
comment on column reaper.copy_moves.content_hash is 'Hash of the content.';
comment on column reaper.copy_moves.source is 'Backend whose copy is to be moved.';
comment on column reaper.copy_moves.destination is 'Backend that is to store it.';
comment on column reaper.copy_moves.size_bytes is 'Size of the copy in bytes.';
comment on column reaper.copy_moves.planned_at is 'When the move was planned.';
comment on table reaper.copy_sweep is 'One row: how far sweep_copies() has looked through content.';
comment on column reaper.copy_sweep.only_row is 'Always true: the table has one row.';
comment on column reaper.copy_sweep.fingerprint is 'What the pass depends on: replication factor, backends, states and health. A change starts a new pass.';
comment on column reaper.copy_sweep.after_hash is 'Last hash that was looked at.';
comment on column reaper.copy_sweep.started_at is 'When the pass began.';
comment on column reaper.copy_sweep.finished_at is 'When the pass ended; null while it runs.';
comment on column reaper.copy_sweep.looked_at is 'Number of contents that the pass has looked at.';
comment on column reaper.copy_sweep.wanted is 'Number of contents with too few good copies that the pass has found.';
comment on column reaper.settings.replication_factor is
    'Number of good copies that each content should have, on as many backends; the replicator makes them, the over-replication cleaner removes more.';
comment on column reaper.settings.unhealthy_after is
    'Copies on a backend that has been failing for this long do not count: others are made, unless more than half of the backends fail.';
comment on column reaper.settings.verify_copies is
    'Whether a copy that the server made by itself is compared afterwards; moved copies always are.';
comment on column reaper.settings.rebalance_strategy is
    'What the rebalancer does: spread (equal utilisation of all backends with a quota) or pack (fill the fullest, empty the others).';
comment on column reaper.settings.rebalance_threshold is
    'Difference of utilisation, 0.1 = 10 % of the quota, below which the rebalancer moves nothing; pack keeps this share of each backend free.';
comment on column reaper.settings.readers_use_doors is
    'Whether all readers of an adopted table ask get_paste() or copies_of(). Until then the object under a content''s own key on backend default is never moved or removed while the content lives.';
comment on column reaper.settings.content_digest is
    'sha256: a content_hash of 64 digits is the SHA-256 of the stored bytes, and copies are compared with it. unknown: only sizes and stored checksums are compared.';
