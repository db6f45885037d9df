-- Drops the older of the two foreign keys and gives its name to the other.
-- locks: pastes and content ACCESS EXCLUSIVE, catalogue change only (milliseconds); waits for it at most 100 ms at a time
-- depends: 0025.validated-restriction
do $$
begin
    if exists (select from reaper.provenance where object = 'constraint pastes.pastes_content_hash_restrict') then
        -- Waiting in this weak mode, which no reader or writer notices, makes an autovacuum give way; only then a strong lock is asked for.
        set local lock_timeout = '5s';
        lock table public.content, public.pastes in share update exclusive mode;
        set local lock_timeout = '100ms';
        alter table public.pastes drop constraint pastes_content_hash_fkey;
        alter table public.pastes rename constraint pastes_content_hash_restrict to pastes_content_hash_fkey;
    end if;
end;
$$;
