-- unknown_birth: since when a content without created_at is known to exist. If reaper's migration added the column, rows without
-- a time are older than it: every later one got its time by default.
create or replace function reaper.unknown_birth()
    returns timestamptz
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select p.made_at from reaper.provenance p where p.object = 'column content.created_at';
$$;
comment on function reaper.unknown_birth() is
    'Internal: the time by which content without created_at was there; null where nobody can know.';
revoke all on function reaper.unknown_birth() from public;
