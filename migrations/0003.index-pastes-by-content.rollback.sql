-- transactional: false
drop index concurrently if exists public.reaper_pastes_content;
