-- key_binding: what is known of the object keys of the bound content table.
create or replace function reaper.key_binding()
    returns table (bound_table text, keys_confirmed boolean, bound_at timestamptz)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select b.bound_table, b.keys_confirmed, b.bound_at from reaper.bindings b where b.name = 'content';
$$;
comment on function reaper.key_binding() is
    'The bound content table, whether objects were found under its keys (null = not looked yet), and when it was bound.';
revoke all on function reaper.key_binding() from public;
grant execute on function reaper.key_binding() to reaper_worker, reaper_ops, reaper_ro;
