-- Builds the index of pastes by content: asked under lock before a content row goes, and by the foreign key when it does. It comes
-- before the foreign key of adopted tables: without it an application's own DELETE of content would read all pastes.
-- locks: pastes SHARE UPDATE EXCLUSIVE while it builds; readers and writers are not blocked
-- depends: 0002.content-and-pastes
-- transactional: false
-- skip-if: select exists (select from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0] join pg_class c on c.oid = i.indexrelid join pg_am am on am.oid = c.relam where i.indrelid = 'public.pastes'::regclass and a.attname = 'content_hash' and i.indisvalid and i.indpred is null and am.amname in ('btree', 'hash') and i.indcollation[0] = a.attcollation)
create index concurrently if not exists reaper_pastes_content on public.pastes (content_hash);
