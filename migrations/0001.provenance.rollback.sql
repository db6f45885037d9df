revoke usage on schema reaper from reaper_worker, reaper_app, reaper_ops, reaper_ro;
drop table if exists reaper.provenance;
