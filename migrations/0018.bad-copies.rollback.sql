-- Drops the index of bad copies.
-- locks: reaper.object_locations SHARE UPDATE EXCLUSIVE, for a moment
-- transactional: false
drop index concurrently if exists reaper.object_locations_trouble;
