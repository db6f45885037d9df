-- key_problems: objects do not lie where the binding says. A deletion would succeed, because a store answers "deleted" for any key, and
-- the objects would stay for ever.
create or replace function reaper_internal.key_problems()
    returns table (problem text, fix text)
    language sql stable
as $$
    select format('objects do not lie under the object keys of %s: %s', b.bound_table, coalesce(b.keys_checked, 'they were looked for')),
           'Bind object_key to the column or expression that names the objects ([tables.content] in reaper.toml, then reaper migrate); reaper verify tells all; reaper doctor looks again.'
      from reaper.bindings b
     where b.keys_confirmed is false;
$$;
comment on function reaper_internal.key_problems() is
    'For binding_problems and require_confirmed_keys: one row if objects were looked for and not found under the bound object keys.';
revoke all on function reaper_internal.key_problems() from public;
