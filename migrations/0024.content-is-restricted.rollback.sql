set local lock_timeout = '100ms';
alter table public.pastes drop constraint if exists pastes_content_hash_restrict;
