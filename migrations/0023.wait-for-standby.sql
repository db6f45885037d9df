-- Lets a DBA hold deletions back until a standby has the commit that they follow from: whoever is promoted then brings no
-- content back whose object is gone.
-- locks: reaper.settings ACCESS EXCLUSIVE, catalogue change only (milliseconds)
-- depends: 0022.places-of-claimed-rows
alter table reaper.settings add column if not exists wait_for_standby text
    constraint settings_wait_for_standby_check check (wait_for_standby ~ '[^ ,]');
grant update (wait_for_standby) on reaper.settings to reaper_ops;

comment on column reaper.settings.wait_for_standby is
    'Objects are deleted only once these standbys have their release on disk: application_names with commas between them, or * for all that are connected, at least one; null = no waiting.';
