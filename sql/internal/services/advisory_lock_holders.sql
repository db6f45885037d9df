-- advisory_lock_holders: the sessions that hold an advisory lock of our class in this database, and whether each may run services: as a worker,
-- or as an operator by hand.
-- Any login may take such a lock, so holding one proves nothing. A prepared transaction has no pid.
create or replace function reaper_internal.advisory_lock_holders()
    returns table (lock_key integer, pid integer, login text, application text, runs_services boolean)
    language sql stable
as $$
    select l.objid::bigint::integer, l.pid, pg_get_userbyid(a.usesysid)::text, a.application_name,
           coalesce(pg_has_role(a.usesysid, 'reaper_worker', 'MEMBER') or pg_has_role(a.usesysid, 'reaper_ops', 'MEMBER'), false)
      from pg_locks l
      left join pg_stat_activity a on a.pid = l.pid
     where l.locktype = 'advisory'
       and l.database = (select d.oid from pg_database d where d.datname = current_database())
       and l.classid = 1919246704
       and l.objsubid = 2
       and l.objid::bigint <= 2147483647
       and l.granted;
$$;
comment on function reaper_internal.advisory_lock_holders() is
    'Sessions that hold an advisory lock of class 1919246704 here: the second key, and whether the login may run services (reaper_worker, reaper_ops).';
revoke all on function reaper_internal.advisory_lock_holders() from public;
