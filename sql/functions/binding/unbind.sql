-- unbind: let the application change its own columns. Views and the guard of object keys keep PostgreSQL from altering the columns that
-- they name; bind() makes both again. It runs with the rights of the caller, because only the owner of a table may drop its trigger.
create or replace function reaper.unbind()
    returns void
    language plpgsql volatile
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_content  regclass := reaper.drop_bound_views();
begin
    if exists (select from pg_class c where c.oid = v_content and pg_has_role(c.relowner, 'USAGE')) then
        execute format('drop trigger if exists reaper_retired_key on %s', v_content);
    end if;
end;
$$;
comment on function reaper.unbind() is
    'Drops the views reaper.pastes and reaper.content, and for the owner of the content table its trigger, so that bound columns can be altered: '
    'begin; select reaper.unbind(); alter table …; select reaper.bind(); commit. Until bind() claims raise RP010. Audited.';
revoke all on function reaper.unbind() from public;
grant execute on function reaper.unbind() to reaper_app, reaper_ops;
