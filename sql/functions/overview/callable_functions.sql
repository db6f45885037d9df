-- callable_functions: which functions of schema reaper this login may call, so that nothing is offered that would be refused. The login, not the
-- owner as which this runs: session_user.
create or replace function reaper.callable_functions()
    returns setof text
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select p.proname::text
      from pg_catalog.pg_proc p
     where p.pronamespace = 'reaper'::regnamespace and has_function_privilege(session_user, p.oid, 'EXECUTE')
     order by 1;
$$;
comment on function reaper.callable_functions() is
    'Names of the functions in schema reaper that this login may call.';
revoke all on function reaper.callable_functions() from public;
grant execute on function reaper.callable_functions() to reaper_worker, reaper_ops, reaper_ro;
