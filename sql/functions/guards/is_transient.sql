-- is_transient: does this error pass by itself, or is a row to blame? Locks, deadlocks and resources pass; missing rights
-- concern every row alike, so no single one is blocked for them.
create or replace function reaper.is_transient(p_sqlstate text)
    returns boolean
    language sql immutable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select p_sqlstate ~ '^(08|40|53|55|57|58|XX)' or p_sqlstate = '42501';
$$;
comment on function reaper.is_transient(text) is
    'Internal: whether an error has its cause outside the rows, so that the whole batch is tried again later.';
revoke all on function reaper.is_transient(text) from public;
