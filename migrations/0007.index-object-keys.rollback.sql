-- transactional: false
drop index concurrently if exists public.reaper_content_object_key;
