-- Builds the unique index of object keys: a key that two content rows name could be deleted under a live paste.
-- locks: content SHARE UPDATE EXCLUSIVE while it builds; readers and writers are not blocked
-- depends: 0006.index-due-pastes
-- transactional: false
-- skip-if: select exists (select from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0] where i.indrelid = 'public.content'::regclass and a.attname = 'object_key' and i.indisunique and i.indnkeyatts = 1 and i.indisvalid and i.indpred is null)
create unique index concurrently if not exists reaper_content_object_key on public.content (object_key);
