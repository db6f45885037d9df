-- A second foreign key from pastes to content, ON DELETE RESTRICT, that takes the place of ours in two steps. With NO ACTION
-- PostgreSQL asks for every deleted content whether another row has its key by now, before it asks for pastes; RESTRICT asks for
-- pastes only. A foreign key that an application made, or changed, stays as it is.
-- locks: pastes and content SHARE ROW EXCLUSIVE, catalogue change only (milliseconds): writers wait; waits for it at most 100 ms at a time
-- depends: 0023.wait-for-standby
do $$
begin
    if exists (select from reaper.provenance where object in ('table pastes', 'constraint pastes.pastes_content_hash_fkey'))
       and exists (select from pg_catalog.pg_constraint c
                     join pg_catalog.pg_attribute p on p.attrelid = c.conrelid and p.attname = 'content_hash'
                     join pg_catalog.pg_attribute t on t.attrelid = c.confrelid and t.attname = 'content_hash'
                    where c.conrelid = 'public.pastes'::regclass and c.confrelid = 'public.content'::regclass
                      and c.conname = 'pastes_content_hash_fkey' and c.conkey = array[p.attnum] and c.confkey = array[t.attnum]
                      and c.confdeltype = 'a' and c.confupdtype = 'a' and not c.condeferrable)
       and not exists (select from pg_catalog.pg_constraint c
                        where c.conrelid = 'public.pastes'::regclass and c.conname = 'pastes_content_hash_restrict') then
        -- Waiting in this weak mode, which no reader or writer notices, makes an autovacuum give way; only then a strong lock is asked for.
        set local lock_timeout = '5s';
        lock table public.content, public.pastes in share update exclusive mode;
        set local lock_timeout = '100ms';
        execute 'alter table public.pastes add constraint pastes_content_hash_restrict
                     foreign key (content_hash) references public.content (content_hash) on delete restrict'
             || case when exists (select from public.pastes) then ' not valid' else '' end;
        insert into reaper.provenance (object) values ('constraint pastes.pastes_content_hash_restrict');
    end if;
end;
$$;
