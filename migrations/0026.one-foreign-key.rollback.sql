set local lock_timeout = '100ms';
do $$
begin
    if exists (select from reaper.provenance where object in ('table pastes', 'constraint pastes.pastes_content_hash_fkey'))
       and exists (select from pg_catalog.pg_constraint c
                    where c.conrelid = 'public.pastes'::regclass and c.conname = 'pastes_content_hash_fkey' and c.confdeltype = 'r') then
        alter table public.pastes rename constraint pastes_content_hash_fkey to pastes_content_hash_restrict;
        -- Rows are looked at on the way back of the step before, while writers go on.
        execute 'alter table public.pastes add constraint pastes_content_hash_fkey
                     foreign key (content_hash) references public.content (content_hash)'
             || case when exists (select from public.pastes) then ' not valid' else '' end;
    end if;
end;
$$;
