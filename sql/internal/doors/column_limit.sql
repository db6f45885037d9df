-- column_limit: maximum length of a column. An adopted application's may be short, and a put that cannot be committed must be refused before
-- its bytes are uploaded.
create or replace function reaper_internal.column_limit(p_name text, p_column text)
    returns integer
    language sql stable
as $$
    select nullif(a.atttypmod, -1) - 4  -- a varchar's modifier counts four bytes of header
      from pg_attribute a
     where a.attrelid = reaper_internal.base_table(p_name) and a.attname = reaper_internal.base_column(p_name, p_column);
$$;
comment on function reaper_internal.column_limit(text, text) is
    'For require_put: maximum number of characters of a varchar column; null = no limit.';
revoke all on function reaper_internal.column_limit(text, text) from public;
