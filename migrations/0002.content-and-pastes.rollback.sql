-- Drops content and pastes if reaper created them and they are empty; else only revokes the rights of reaper_owner.
-- locks: pastes and content ACCESS EXCLUSIVE, for moments
do $$
declare
    v_rows bigint;
begin
    if exists (select from reaper.provenance where object = 'table pastes') then
        execute 'select count(*) from public.pastes' into v_rows;
        if v_rows > 0 then
            raise exception sqlstate 'RP007' using
                message = format('dropping public.pastes would lose %s rows', v_rows),
                hint    = 'Move the rows elsewhere first, or stay on this release.';
        end if;
        drop table public.pastes;
    else
        revoke all on public.pastes from reaper_owner;
    end if;
    if exists (select from reaper.provenance where object = 'table content') then
        execute 'select count(*) from public.content' into v_rows;
        if v_rows > 0 then
            raise exception sqlstate 'RP007' using
                message = format('dropping public.content would lose %s rows', v_rows),
                hint    = 'Move the rows elsewhere first, or stay on this release.';
        end if;
        drop table public.content;
    else
        revoke all on public.content from reaper_owner;
    end if;
    delete from reaper.provenance where object in ('table pastes', 'table content');
end;
$$;
