-- undo: ends a block of PL/pgSQL as if it had not begun: what it changed and locked is rolled back, and its handler (when sqlstate 'UNDO0')
-- continues. A code of its own, because any other could come from a trigger of the application.
create or replace function reaper_internal.undo()
    returns void
    language plpgsql immutable
as $$
begin
    raise exception sqlstate 'UNDO0' using message = 'undone';
end;
$$;
comment on function reaper_internal.undo() is
    'Raises UNDO0, which the calling block catches: its changes and row locks are rolled back.';
revoke all on function reaper_internal.undo() from public;
