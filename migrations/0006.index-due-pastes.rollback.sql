-- Drops the index.
-- locks: pastes SHARE UPDATE EXCLUSIVE; readers and writers are not blocked
-- transactional: false
drop index concurrently if exists public.reaper_pastes_due;
