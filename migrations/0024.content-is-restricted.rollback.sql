do $$
begin
    if exists (select from reaper.provenance where object = 'constraint pastes.pastes_content_hash_restrict') then
        -- Waiting in this weak mode, which no reader or writer notices, makes an autovacuum give way; only then a strong lock is asked for.
        set local lock_timeout = '5s';
        lock table public.content, public.pastes in share update exclusive mode;
        set local lock_timeout = '100ms';
        alter table public.pastes drop constraint pastes_content_hash_restrict;
        delete from reaper.provenance where object = 'constraint pastes.pastes_content_hash_restrict';
    end if;
end;
$$;
