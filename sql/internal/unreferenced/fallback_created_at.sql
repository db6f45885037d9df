-- fallback_created_at: since when a content without created_at is known to exist. If reaper's migration added the column, rows without
-- a time are older than it: every later one got its time by default.
create or replace function reaper_internal.fallback_created_at()
    returns timestamptz
    language sql stable
as $$
    select p.made_at from reaper.provenance p where p.object = 'column content.created_at';
$$;
comment on function reaper_internal.fallback_created_at() is
    'The time by which content without created_at was there; null where nobody can know.';
revoke all on function reaper_internal.fallback_created_at() from public;
