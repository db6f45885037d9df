-- Revokes and drops what the step created; fails if schema reaper_internal holds an object that reaper did not create.
-- locks: reaper.provenance and reaper.bindings ACCESS EXCLUSIVE, for moments
revoke usage on schema reaper from reaper_worker, reaper_app, reaper_ops, reaper_ro;
comment on schema reaper is null;
drop table if exists reaper.provenance;
drop table if exists reaper.bindings;
-- Without CASCADE: what is still in it was not made by reaper.
drop schema if exists reaper_internal;
