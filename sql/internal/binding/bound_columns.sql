-- bound_columns: the columns of the two views in their order, and the SQL that gives each from a row t of the application's table.
create or replace function reaper_internal.bound_columns(p_name text)
    returns table (place integer, column_name text, source text)
    language sql stable
as $$
    select c.place::integer, c.name,
           case when c.name = 'object_key' and b.key_expression is not null then format('(%s)', b.key_expression)
                else format('t.%I', b.columns ->> c.name) end
      from reaper.bindings b
     cross join unnest(case b.name when 'pastes' then '{short_code,content_hash,created_at,expires_at,deletion_status,deletion_initiated_at}'::text[]
                                   else '{content_hash,object_key,ref_count,size_bytes,created_at}'::text[] end) with ordinality as c (name, place)
     where b.name = p_name;
$$;
comment on function reaper_internal.bound_columns(text) is
    'For bind: columns of the view reaper.pastes or reaper.content, and the expression of each over the bound table t.';
revoke all on function reaper_internal.bound_columns(text) from public;
