-- Validates the foreign key of the last step, so that the next one may drop the other.
-- locks: pastes SHARE UPDATE EXCLUSIVE and content ROW SHARE for one scan of pastes; readers and writers go on
-- depends: 0024.content-is-restricted
set local lock_timeout = '5s';
do $$
begin
    if exists (select from reaper.provenance where object = 'constraint pastes.pastes_content_hash_restrict') then
        alter table public.pastes validate constraint pastes_content_hash_restrict;
    end if;
exception when foreign_key_violation then
    raise exception using
        errcode = 'foreign_key_violation',
        message = format('%s paste rows name content that does not exist',
                         (select count(*) from public.pastes p
                           where not exists (select from public.content c where c.content_hash = p.content_hash))),
        hint    = 'Delete these pastes or restore their content rows, then run reaper migrate again; it goes on from here.';
end;
$$;
