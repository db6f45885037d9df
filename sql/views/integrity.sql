-- integrity: how well each backend is known: the last comparison with the database, and how much of it was read and compared.
create or replace view reaper.integrity as
    select b.name as backend,
           coalesce(r.untracked, 'report') as untracked,
           coalesce(r.phase, 'idle') as phase,
           r.began_at,
           r.finished_at,
           coalesce(r.listed, 0) as listed,
           coalesce(r.expected, 0) as expected,
           coalesce(r.missing, 0) as missing,
           coalesce(r.unknown, 0) as unknown,
           r.brake_reason,
           r.copies,
           round(r.verified / nullif(r.copies, 0)::numeric, 4) as share_verified,
           r.oldest as oldest_verified,
           r.counted_at,
           case when r.scrub_day = (reaper.clock() at time zone 'UTC')::date then r.scrub_bytes else 0 end as scrubbed_today,
           r.scrub_brake,
           (select count(*) from reaper.sightings s where s.backend = b.name) as untracked_objects,
           (select coalesce(sum(s.size_bytes), 0) from reaper.sightings s where s.backend = b.name) as untracked_bytes,
           r.uploads,
           r.oldest_upload,
           r.upload_parts,
           r.upload_bytes,
           r.last_result
      from reaper.backend_list b
      left join reaper.reconciliations r on r.backend = b.name
     order by b.name;
comment on view reaper.integrity is 'Per backend: what the reconciler found in its last pass, how much the scrubber has verified, and open uploads in parts.';
comment on column reaper.integrity.backend is 'Name of the backend.';
comment on column reaper.integrity.untracked is 'What happens to objects that no row names, seen again after a day: report, import or delete.';
comment on column reaper.integrity.phase is 'idle, listing, settling, or braked: the pass was stopped and nothing was changed.';
comment on column reaper.integrity.began_at is 'When the present or last pass began.';
comment on column reaper.integrity.finished_at is 'When the last complete pass ended.';
comment on column reaper.integrity.listed is 'Number of objects that the pass found.';
comment on column reaper.integrity.expected is 'Number of objects that should be there.';
comment on column reaper.integrity.missing is 'Number of them that were not listed.';
comment on column reaper.integrity.unknown is 'Number of objects that no row names.';
comment on column reaper.integrity.brake_reason is 'Why the pass was stopped.';
comment on column reaper.integrity.copies is 'Number of copies when they were last counted.';
comment on column reaper.integrity.share_verified is 'Share of them that was verified within 30 days.';
comment on column reaper.integrity.oldest_verified is 'Oldest verification; -infinity = some copy was never verified.';
comment on column reaper.integrity.counted_at is 'When copies were last counted.';
comment on column reaper.integrity.scrubbed_today is 'Number of bytes that the scrubber has read today (UTC).';
comment on column reaper.integrity.scrub_brake is 'Why the scrubber was stopped; null if it was not.';
comment on column reaper.integrity.untracked_objects is 'Number of objects that no row names, as of the last pass.';
comment on column reaper.integrity.untracked_bytes is 'Number of their bytes.';
comment on column reaper.integrity.uploads is 'Number of open uploads in parts at the last look.';
comment on column reaper.integrity.oldest_upload is 'When the oldest of them began.';
comment on column reaper.integrity.upload_parts is 'Number of parts deleted with abandoned uploads, in all.';
comment on column reaper.integrity.upload_bytes is 'Number of bytes deleted with them.';
comment on column reaper.integrity.last_result is 'Figures of the last complete pass.';
revoke all on reaper.integrity from public;
grant select on reaper.integrity to reaper_worker, reaper_ops, reaper_ro;
