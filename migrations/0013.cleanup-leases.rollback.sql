-- A lease is no information: without it the row is simply due again.
alter table reaper.invalidations drop column if exists lease;
alter table reaper.cleanup_queue drop column if exists lease;
