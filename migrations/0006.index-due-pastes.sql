-- Builds the index of the claim: due rows in order of expiry, with the code as the cursor's tie-break for cohorts of one timestamp.
-- No index mentions deletion_status or deletion_initiated_at: the claim changes both, and stays a HOT update.
-- locks: pastes SHARE UPDATE EXCLUSIVE while it builds; readers and writers are not blocked
-- depends: 0005.validated-constraints
-- transactional: false
-- skip-if: select exists (select from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0] join pg_class c on c.oid = i.indexrelid join pg_am am on am.oid = c.relam where i.indrelid = 'public.pastes'::regclass and a.attname = 'expires_at' and i.indisvalid and i.indpred is null and am.amname = 'btree' and i.indoption[0] in (0, 3))
create index concurrently if not exists reaper_pastes_due on public.pastes (expires_at, short_code);
