-- base_table: the application's table that reaper.pastes or reaper.content really reads. A view knows its table by number, not by name: after
-- the application has renamed it, this is still the old one.
create or replace function reaper_internal.base_table(p_name text)
    returns regclass
    language plpgsql stable
as $$
begin
    return (
        select d.refobjid::regclass
          from pg_catalog.pg_rewrite r
          join pg_catalog.pg_depend d
            on d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = r.oid
           and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> r.ev_class
         where r.ev_class = to_regclass('reaper.' || p_name)
         limit 1);
end;
$$;
comment on function reaper_internal.base_table(text) is
    'The table behind the view reaper.pastes or reaper.content; null if the view does not exist.';
revoke all on function reaper_internal.base_table(text) from public;
