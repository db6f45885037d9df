-- Validates the foreign key of the last step, so that the next one may drop the other.
-- locks: pastes SHARE UPDATE EXCLUSIVE and content ROW SHARE for one scan of pastes; readers and writers go on
-- depends: 0024.content-is-restricted
set local lock_timeout = '5s';
do $$
begin
    if exists (select from pg_catalog.pg_constraint c
                where c.conrelid = 'public.pastes'::regclass and c.conname = 'pastes_content_hash_restrict') then
        alter table public.pastes validate constraint pastes_content_hash_restrict;
    end if;
end;
$$;
