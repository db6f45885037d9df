-- Adds what services need that compare PostgreSQL with the backends: the state of each backend's comparison, objects that no row names,
-- copies under suspicion, uploads in parts, and settings.
-- locks: reaper.put_intents and reaper.settings ACCESS EXCLUSIVE, for a moment
-- depends: 0014.lifecycle
create table if not exists reaper.reconciliations (
    backend      text collate "C" not null primary key,
    untracked    text        not null default 'report' constraint reconciliations_untracked_check
                             check (untracked in ('report', 'import', 'delete')),
    pass         uuid,
    phase        text        not null default 'idle' constraint reconciliations_phase_check
                             check (phase in ('idle', 'listing', 'settling', 'braked')),
    after_key    text collate "C" not null default '',
    began_at     timestamptz,
    finished_at  timestamptz,
    listed       bigint      not null default 0,
    expected     bigint      not null default 0,
    missing      bigint      not null default 0,
    unknown      bigint      not null default 0,
    recorded     bigint      not null default 0,
    brake_reason text,
    last_result  jsonb,
    scrub_after  text collate "C" not null default '',
    scrub_began  timestamptz,
    scrub_looked bigint      not null default 0,
    scrub_bad    bigint      not null default 0,
    scrub_day    date,
    scrub_bytes  bigint      not null default 0,
    scrub_brake  text,
    copies       bigint,
    verified     bigint,
    oldest       timestamptz,
    counted_at   timestamptz,
    uploads      bigint,
    upload_parts bigint,
    upload_bytes bigint,
    oldest_upload timestamptz,
    uploads_at   timestamptz
) with (fillfactor = 50);

create table if not exists reaper.sightings (
    backend      text collate "C" not null,
    object_key   text collate "C" not null,
    size_bytes   bigint      not null,
    first_seen   timestamptz not null,
    last_seen    timestamptz not null,
    retired_at   timestamptz,
    barrier      xid8,
    primary key (backend, object_key)
);
create index if not exists sightings_retired on reaper.sightings (object_key) where retired_at is not null;
create index if not exists sightings_age on reaper.sightings (backend, first_seen);

create table if not exists reaper.suspects (
    backend       text collate "C" not null,
    object_key    text collate "C" not null,
    content_hash  text collate "C" not null,
    first_seen    timestamptz not null,
    next_attempt  timestamptz not null,
    pass          uuid,
    primary key (backend, object_key)
);

alter table reaper.put_intents add column if not exists upload_id text;
alter table reaper.settings
    add column if not exists missing_brake numeric not null default 0.05 constraint settings_missing_brake_check
                             check (missing_brake between 0 and 1),
    add column if not exists corrupt_brake numeric not null default 0.05 constraint settings_corrupt_brake_check
                             check (corrupt_brake between 0 and 1),
    add column if not exists scrub_bytes_per_day bigint constraint settings_scrub_bytes_per_day_check
                             check (scrub_bytes_per_day > 0),
    add column if not exists scrub_every interval not null default '7 days' constraint settings_scrub_every_check
                             check (scrub_every between interval '0' and interval '1 year'),
    add column if not exists multipart_max_age interval not null default '24 hours' constraint settings_multipart_max_age_check
                             check (multipart_max_age between interval '1 hour' and interval '1 year');
grant update (missing_brake, corrupt_brake, scrub_bytes_per_day, scrub_every, multipart_max_age) on reaper.settings to reaper_ops;
grant select on reaper.sightings, reaper.suspects to reaper_ops, reaper_ro;

comment on table reaper.reconciliations is
    'One row per backend: how far the comparison of bucket and database has come, what it found, and how far the scrubber has read. Read it through the view reaper.integrity.';
comment on column reaper.reconciliations.backend is 'Name of the backend.';
comment on column reaper.reconciliations.untracked is
    'What happens to objects that no row names, seen again after a day: report, import or delete. Set by set_untracked().';
comment on column reaper.reconciliations.pass is 'Random identifier of the present or last pass; a page of another pass changes nothing.';
comment on column reaper.reconciliations.phase is
    'idle: no pass runs. listing: bucket and database are being compared. settling: what was found is acted upon. braked: the pass was stopped, nothing was changed.';
comment on column reaper.reconciliations.after_key is 'Last object key that the pass has compared.';
comment on column reaper.reconciliations.began_at is 'When the pass began.';
comment on column reaper.reconciliations.finished_at is 'When the last complete pass ended.';
comment on column reaper.reconciliations.listed is 'Number of objects that the pass found in the bucket.';
comment on column reaper.reconciliations.expected is 'Number of objects that should be there.';
comment on column reaper.reconciliations.missing is 'Number of expected objects that were not there.';
comment on column reaper.reconciliations.unknown is 'Number of objects that no row names.';
comment on column reaper.reconciliations.recorded is 'Number of an application''s own objects that got a location row.';
comment on column reaper.reconciliations.brake_reason is 'Why the pass was stopped; null if it was not.';
comment on column reaper.reconciliations.last_result is 'Figures of the last complete pass.';
comment on column reaper.reconciliations.scrub_after is 'Last object key that the scrubber has read in its present round.';
comment on column reaper.reconciliations.scrub_began is 'When the scrubber''s present day of figures began.';
comment on column reaper.reconciliations.scrub_looked is 'Number of copies that were read since then.';
comment on column reaper.reconciliations.scrub_bad is 'Number of them that were corrupt or missing.';
comment on column reaper.reconciliations.scrub_day is 'Day (UTC) of scrub_bytes.';
comment on column reaper.reconciliations.scrub_bytes is 'Number of bytes that were read on that day.';
comment on column reaper.reconciliations.scrub_brake is 'Why the scrubber was stopped; null if it was not.';
comment on column reaper.reconciliations.copies is 'Number of copies when they were last counted.';
comment on column reaper.reconciliations.verified is 'Number of them that were verified within 30 days.';
comment on column reaper.reconciliations.oldest is 'Oldest verification; -infinity = some copy was never verified.';
comment on column reaper.reconciliations.counted_at is 'When copies were last counted.';
comment on column reaper.reconciliations.uploads is 'Number of uploads in parts that were open at the last look.';
comment on column reaper.reconciliations.upload_parts is 'Number of parts that were deleted with abandoned uploads, in all.';
comment on column reaper.reconciliations.upload_bytes is 'Number of bytes that were deleted with them.';
comment on column reaper.reconciliations.oldest_upload is 'When the oldest of the open uploads began.';
comment on column reaper.reconciliations.uploads_at is 'When uploads in parts were last looked at.';
comment on table reaper.sightings is 'Objects in a bucket that no row names: not content, not being uploaded, not queued for deletion.';
comment on column reaper.sightings.backend is 'Backend that stores the object.';
comment on column reaper.sightings.object_key is 'Key of the object.';
comment on column reaper.sightings.size_bytes is 'Size of the object in bytes.';
comment on column reaper.sightings.first_seen is 'When the object was first seen with this size.';
comment on column reaper.sightings.last_seen is 'When the object was last seen.';
comment on column reaper.sightings.retired_at is 'When the name was retired, because the object is to be deleted; null = it is not.';
comment on column reaper.sightings.barrier is
    'Transaction that got its number after the name was retired for all to see: once it and every older one have ended, no row that names the object can appear, and it is queued.';
comment on table reaper.suspects is 'Copies that were not found once; a second look, at least 15 minutes later or at the end of a pass, decides.';
comment on column reaper.suspects.backend is 'Backend of the copy.';
comment on column reaper.suspects.object_key is 'Object key of the copy.';
comment on column reaper.suspects.content_hash is 'Hash of its content.';
comment on column reaper.suspects.first_seen is 'When it was first not found.';
comment on column reaper.suspects.next_attempt is 'Earliest time of the second look.';
comment on column reaper.suspects.pass is 'Pass of the reconciler that found it; null = the scrubber did.';
comment on column reaper.put_intents.upload_id is 'Name of the upload in parts on the backend; null = none was begun.';
comment on column reaper.settings.missing_brake is
    'A pass of the reconciler stops and changes nothing if more than this share of the objects, and at least 50, is missing: the bucket is probably the wrong one.';
comment on column reaper.settings.corrupt_brake is
    'The scrubber stops and records nothing if more than this share of what it read in a day, and at least 50 copies, is corrupt or missing: the store is probably answering wrongly.';
comment on column reaper.settings.scrub_bytes_per_day is 'Maximum number of bytes that the scrubber reads per backend and day (UTC); null = no limit.';
comment on column reaper.settings.scrub_every is
    'The scrubber does not read a copy again that was verified more recently than this, but for a sample.';
comment on column reaper.settings.multipart_max_age is
    'Uploads in parts whose last part is older than this are aborted, unless an intent that is not settled holds them.';
