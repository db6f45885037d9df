-- require_read_committed: refuse to decide by an old snapshot that no row exists.
-- Under repeatable read a paste that was committed after the snapshot is invisible, and its content would be deleted.
create or replace function reaper_internal.require_read_committed()
    returns void
    language plpgsql stable
as $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception sqlstate 'RP006' using
            message = format('reaper needs isolation level read committed, this transaction has %s',
                             current_setting('transaction_isolation')),
            hint    = 'Begin the transaction with: begin isolation level read committed';
    end if;
end;
$$;
comment on function reaper_internal.require_read_committed() is
    'Raises RP006 unless the transaction is read committed.';
revoke all on function reaper_internal.require_read_committed() from public;
