do $$
declare
    -- Rows are looked at on the way back of the step before, while writers go on.
    v_validity text := case when exists (select from public.pastes) then ' not valid' else '' end;
begin
    if exists (select from reaper.provenance where object = 'constraint pastes.pastes_content_hash_restrict') then
        -- Waiting in this weak mode, which no reader or writer notices, makes an autovacuum give way; only then a strong lock is asked for.
        set local lock_timeout = '5s';
        lock table public.content, public.pastes in share update exclusive mode;
        set local lock_timeout = '100ms';
        alter table public.pastes rename constraint pastes_content_hash_fkey to pastes_content_hash_restrict;
        execute 'alter table public.pastes add constraint pastes_content_hash_fkey
                     foreign key (content_hash) references public.content (content_hash)' || v_validity;
    end if;
end;
$$;
