-- One login for each kind of process, with the role of reaper that it needs and nothing else.
-- The passwords are for this machine only.
select format('create role %I login password %L', login, 'local-only')
  from (values ('worker'), ('web'), ('application'), ('monitoring')) as wanted (login)
 where not exists (select from pg_catalog.pg_roles r where r.rolname = login)
\gexec
grant reaper_worker to worker;
grant reaper_ops to web;
grant reaper_app to application;
grant reaper_ro to monitoring;
