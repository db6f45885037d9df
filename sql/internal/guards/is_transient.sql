-- is_transient: is this error transient, or caused by a row? Locks, deadlocks and resources are transient. Rights that are missing are found
-- before (require_binding); one that is missing here was refused by a trigger, for its row.
create or replace function reaper_internal.is_transient(p_sqlstate text)
    returns boolean
    language sql immutable
as $$
    select p_sqlstate ~ '^(08|53|57|58|XX)' or p_sqlstate in ('40001', '40P01', '55P03');
$$;
comment on function reaper_internal.is_transient(text) is
    'Whether an error is not caused by the rows, so that the whole batch is tried again later.';
revoke all on function reaper_internal.is_transient(text) from public;
