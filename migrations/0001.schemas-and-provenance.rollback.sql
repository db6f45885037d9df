-- Undoes what it granted and created; a schema reaper_internal with something of others in it stops it.
-- locks: reaper.provenance ACCESS EXCLUSIVE, for moments
revoke usage on schema reaper from reaper_worker, reaper_app, reaper_ops, reaper_ro;
comment on schema reaper is null;
drop table if exists reaper.provenance;
-- Without CASCADE: what is still in it was not made by reaper.
drop schema if exists reaper_internal;
