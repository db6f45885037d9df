-- foreign_lock_reasons: sessions that hold the advisory lock of a service without the right to run it, one sentence each.
-- format() of a null is not null, so a missing pid is asked for.
create or replace function reaper_internal.foreign_lock_reasons()
    returns setof text
    language sql stable
as $$
    select format('%s holds the advisory lock of %s without being a member of reaper_worker or reaper_ops; %s on the lease alone. %s',
                  case when h.pid is null then 'a prepared transaction'
                       else format('session %s (%s%s)', h.pid, h.login, ', ' || nullif(h.application, '')) end,
                  case when count(*) > 1 then format('%s services (%s)', count(*), string_agg(s.name, ', ' order by s.name))
                       else 'service ' || min(s.name) end,
                  case when count(*) > 1 then 'they run' else 'it runs' end,
                  case when h.pid is null then 'Find it in pg_prepared_xacts and roll it back.'
                       else format('End the session: select pg_terminate_backend(%s);', h.pid) end)
      from reaper_internal.advisory_lock_holders() as h
      join reaper.services s on s.service_key = h.lock_key
     where not h.runs_services
     group by h.pid, h.login, h.application
     order by h.pid;
$$;
comment on function reaper_internal.foreign_lock_reasons() is
    'Sentences for reaper.health: sessions that hold the advisory locks of services and may not run any, with the remedy.';
revoke all on function reaper_internal.foreign_lock_reasons() from public;
