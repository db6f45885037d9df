-- connection_reasons: the server has hardly a connection left. A worker keeps those that it has, but each run of a service opens its own, and
-- any login may hold idle ones.
create or replace function reaper_internal.connection_reasons(p_spare integer default 3)
    returns setof text
    language sql stable
as $$
    with used as (
        select count(*) as sessions,
               (select sum(s.setting::integer) filter (where s.name = 'max_connections')
                       - sum(s.setting::integer) filter (where s.name in ('superuser_reserved_connections', 'reserved_connections'))
                  from pg_catalog.pg_settings s
                 where s.name in ('max_connections', 'superuser_reserved_connections', 'reserved_connections')) as available
          from pg_catalog.pg_stat_activity a
         where a.usesysid is not null and a.datid is not null  -- backend_type of others' sessions is hidden from reaper_owner
    ), most as (
        select a.usename, count(*) as sessions, min(a.pid) as example
          from pg_catalog.pg_stat_activity a
         where a.usesysid is not null and a.datid is not null
         group by a.usename
         order by count(*) desc, a.usename
         limit 1
    )
    select format('%s of %s connections of the server are in use, so services cannot connect; login %s has %s of them, such as session %s. '
                  'See pg_stat_activity; end idle ones (select pg_terminate_backend(pid)), or run: alter role %I connection limit …',
                  u.sessions, u.available, m.usename, m.sessions, m.example, m.usename)
      from used u, most m
     where u.sessions > u.available - p_spare;
$$;
comment on function reaper_internal.connection_reasons(integer) is
    'For attention_reasons: fewer than p_spare connections are left beside those reserved for superusers, and which login has most.';
revoke all on function reaper_internal.connection_reasons(integer) from public;
