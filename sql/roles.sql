-- Creates the five roles. Roles belong to the cluster, not to one database, so they may exist already, or be created by another
-- database's migration at the same time.
-- NOLOGIN groups: grant them to the logins of your processes.
do $$
declare
    v_role text;
begin
    foreach v_role in array array['reaper_owner', 'reaper_worker', 'reaper_app', 'reaper_ops', 'reaper_ro'] loop
        begin
            if not exists (select from pg_catalog.pg_roles r where r.rolname = v_role) then
                execute format('create role %I nologin', v_role);
            end if;
        exception when duplicate_object or unique_violation then
            null;
        end;
    end loop;
end;
$$;
