-- A second foreign key from pastes to content, ON DELETE RESTRICT, that takes the place of ours in two steps. With NO ACTION
-- PostgreSQL asks for every deleted content whether another row has its key by now, before it asks for pastes; RESTRICT asks for
-- pastes only. An application's own foreign key stays as it is.
-- locks: pastes and content SHARE ROW EXCLUSIVE, catalogue change only (milliseconds): writers wait; waits for it at most 100 ms at a time
-- depends: 0023.wait-for-standby
set local lock_timeout = '100ms';
do $$
begin
    if exists (select from reaper.provenance where object in ('table pastes', 'constraint pastes.pastes_content_hash_fkey'))
       and exists (select from pg_catalog.pg_constraint c
                    where c.conrelid = 'public.pastes'::regclass and c.conname = 'pastes_content_hash_fkey' and c.confdeltype = 'a') then
        alter table public.pastes add constraint pastes_content_hash_restrict
            foreign key (content_hash) references public.content (content_hash) on delete restrict not valid;
    end if;
end;
$$;
