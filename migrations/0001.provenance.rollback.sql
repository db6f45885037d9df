drop schema if exists reaper_internal;
comment on schema reaper is null;
revoke usage on schema reaper from reaper_worker, reaper_app, reaper_ops, reaper_ro;
drop table if exists reaper.provenance;
