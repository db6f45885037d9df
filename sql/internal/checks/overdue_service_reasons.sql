-- overdue_service_reasons: services that should have started ten minutes ago, although a worker lives. One whose schedule cannot be read has a reason of its own.
create or replace function reaper_internal.overdue_service_reasons(p_now timestamptz)
    returns setof text
    language sql stable
as $$
    select format('service %s is overdue: it should have started at %s, %s ago. %s', s.name, reaper_internal.moment(d.since), reaper_internal.in_words(p_now - d.since),
                  case when h.pid is not null then format('Session %s (%s) holds its lock; to end that session: select pg_terminate_backend(%s)',
                                                          h.pid, concat_ws(', ', h.usename, nullif(h.application_name, '')), h.pid)
                       when s.last_started_at > coalesce(s.last_finished_at, '-infinity')
                       then format('Worker %s began a run at %s and has not ended it: look at its log, or restart it', s.last_worker, reaper_internal.moment(s.last_started_at))
                       else 'See reaper jobs list and the logs of the workers; reaper service run ' || s.name || ' --here runs it at once' end)
      from reaper_internal.due_services(p_now) as d
      join reaper.services s on s.name = d.name
      left join lateral (select l.pid, a.usename, a.application_name
                           from pg_catalog.pg_locks l
                           left join pg_catalog.pg_stat_activity a on a.pid = l.pid
                          where l.locktype = 'advisory' and l.granted and l.classid = 1919246704 and l.objid = s.service_key::oid and l.objsubid = 2
                            and l.database = (select o.oid from pg_catalog.pg_database o where o.datname = current_database())
                          order by l.pid
                          limit 1) as h on true
     where d.since <= p_now - interval '10 minutes'
       and exists (select from reaper_internal.workers_alive(p_now) as w where w.workers > 0)
       and reaper_internal.plan_problem(s) is null
     order by s.name;
$$;
comment on function reaper_internal.overdue_service_reasons(timestamptz) is
    'For attention_reasons: services that do not start although workers live.';
revoke all on function reaper_internal.overdue_service_reasons(timestamptz) from public;
