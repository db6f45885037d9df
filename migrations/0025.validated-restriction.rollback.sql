-- The older foreign key came back unvalidated, so that nobody had to wait for a scan.
set local lock_timeout = '5s';
do $$
begin
    if exists (select from reaper.provenance where object = 'constraint pastes.pastes_content_hash_restrict') then
        alter table public.pastes validate constraint pastes_content_hash_fkey;
    end if;
exception when foreign_key_violation then
    raise warning 'pastes_content_hash_fkey stays unvalidated: there are pastes whose content does not exist';
end;
$$;
