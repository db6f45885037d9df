-- fallback_created_at: since when content without created_at is known to exist. If reaper's migration added the column, rows without a time
-- are older than it: every later row got its time by default.
create or replace function reaper_internal.fallback_created_at()
    returns timestamptz
    language sql stable
as $$
    select p.made_at
      from reaper.provenance p
      join reaper.bindings b on b.name = 'content' and b.bound_table = p.table_name
     where p.kind = 'column' and p.name = b.columns ->> 'created_at';
$$;
comment on function reaper_internal.fallback_created_at() is
    'The time at which content without created_at existed already; null if unknown.';
revoke all on function reaper_internal.fallback_created_at() from public;
