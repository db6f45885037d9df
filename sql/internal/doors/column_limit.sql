-- column_limit: maximum length of a column. An adopted application's may be short, and a put that cannot be committed must be refused before
-- its bytes are uploaded.
create or replace function reaper_internal.column_limit(p_table regclass, p_column name)
    returns integer
    language sql stable
as $$
    select nullif(a.atttypmod, -1) - 4  -- a varchar's modifier counts four bytes of header
      from pg_attribute a
     where a.attrelid = p_table and a.attname = p_column;
$$;
comment on function reaper_internal.column_limit(regclass, name) is
    'For require_put: maximum number of characters of a varchar column; null = no limit.';
revoke all on function reaper_internal.column_limit(regclass, name) from public;
