-- Drops the index.
-- locks: content SHARE UPDATE EXCLUSIVE; readers and writers are not blocked
-- transactional: false
drop index concurrently if exists public.reaper_content_object_key;
