-- require_read_committed: refuse to decide on absence from an old snapshot.
-- Under repeatable read a paste that was committed after the snapshot is invisible, and its content would be deleted.
create or replace function reaper_internal.require_read_committed()
    returns void
    language plpgsql stable
as $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception sqlstate 'RP006' using
            message = format('reaper decides under read committed, this transaction is %s',
                             current_setting('transaction_isolation')),
            hint    = 'Begin the transaction with: begin isolation level read committed';
    end if;
end;
$$;
comment on function reaper_internal.require_read_committed() is
    'Raises RP006 unless the transaction is read committed.';
revoke all on function reaper_internal.require_read_committed() from public;
