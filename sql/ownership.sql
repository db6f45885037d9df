-- Makes reaper_owner the owner of everything in our schemas, whichever login migrates: the definer functions run as that role, and the
-- next migration may be run by another login.
do $$
declare
    v_command text;
begin
    for v_command in
        select format('alter %s %s owner to reaper_owner',
                      case c.relkind when 'S' then 'sequence' when 'v' then 'view' when 'c' then 'type' else 'table' end,
                      c.oid::regclass)
          from pg_catalog.pg_class c
         where c.relnamespace = 'reaper'::regnamespace
           and c.relkind in ('r', 'v', 'S', 'c')
           and c.relowner <> 'reaper_owner'::regrole
           -- A sequence that belongs to a column follows its table.
           and not exists (select from pg_catalog.pg_depend d
                            where d.objid = c.oid and c.relkind = 'S' and d.deptype in ('a', 'i'))
        union all
        select format('alter %s %s owner to reaper_owner',
                      case p.prokind when 'p' then 'procedure' else 'function' end,
                      p.oid::regprocedure)
          from pg_catalog.pg_proc p
         where p.pronamespace in (to_regnamespace('reaper'), to_regnamespace('reaper_internal'))
           and p.proowner <> 'reaper_owner'::regrole
        union all
        select format('alter schema %I owner to reaper_owner', n.nspname)
          from pg_catalog.pg_namespace n
         where n.nspname in ('reaper', 'reaper_internal') and n.nspowner <> 'reaper_owner'::regrole
    loop
        execute v_command;
    end loop;
end;
$$;
