-- is_transient: is this error transient, or caused by a row? Locks, deadlocks and resources are transient. Rights that we lack on the tables
-- concern every row, so no row is blocked for them; if we have them, a trigger refused the row.
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
    'Whether an error is not caused by the rows, so that the whole batch is tried again later.';
revoke all on function reaper_internal.is_transient(text) from public;
