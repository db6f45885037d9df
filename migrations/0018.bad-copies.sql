-- Creates the index by which copies that are missing or corrupt are counted: nearly empty, however many copies there are.
-- locks: reaper.object_locations SHARE UPDATE EXCLUSIVE while its rows are read once; readers and writers do not wait
-- depends: 0017.notifications
-- transactional: false
create index concurrently if not exists object_locations_trouble on reaper.object_locations (trouble) where trouble is not null;
