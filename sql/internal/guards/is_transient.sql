-- is_transient: does this error pass by itself, or is a row to blame? Locks, deadlocks and resources pass. Rights that we lack
-- on the tables concern every row alike, so no single one is blocked for them; where we have them, a trigger said no to a row.
create or replace function reaper_internal.is_transient(p_sqlstate text)
    returns boolean
    language sql stable
as $$
    select p_sqlstate ~ '^(08|53|57|58|XX)'
        or p_sqlstate in ('40001', '40P01', '55P03')
        or (p_sqlstate = '42501'
            and not (has_table_privilege('public.pastes', 'select') and has_table_privilege('public.pastes', 'update')
                     and has_table_privilege('public.pastes', 'delete') and has_table_privilege('public.content', 'select')
                     and has_table_privilege('public.content', 'update') and has_table_privilege('public.content', 'delete')));
$$;
comment on function reaper_internal.is_transient(text) is
    'Whether an error has its cause outside the rows, so that the whole batch is tried again later.';
revoke all on function reaper_internal.is_transient(text) from public;
