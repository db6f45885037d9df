-- The older foreign key came back unvalidated, to keep nobody waiting; this one did not say so much before its migration.
set local lock_timeout = '5s';
do $$
begin
    if exists (select from pg_catalog.pg_constraint c
                where c.conrelid = 'public.pastes'::regclass and c.conname = 'pastes_content_hash_restrict') then
        alter table public.pastes validate constraint pastes_content_hash_fkey;
        set local lock_timeout = '100ms';
        alter table public.pastes
            drop constraint pastes_content_hash_restrict,
            add constraint pastes_content_hash_restrict
            foreign key (content_hash) references public.content (content_hash) on delete restrict not valid;
    end if;
end;
$$;
