-- repair_accounts: correct the byte accounts by inserting the difference to the rows behind them. Safe while writers and workers run; a
-- second call at the same time waits for the first and then finds no difference.
create or replace function reaper.repair_accounts()
    returns table (backend text, kind text, was numeric, now numeric)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
#variable_conflict use_column
begin
    perform reaper_internal.require_read_committed();
    -- Conflicts with itself and with no writer; no other login has a right to lock it.
    lock table reaper.byte_deltas in share update exclusive mode;
    return query
        with wrong as materialized (
            select c.backend, c.kind, c.booked, c.found from reaper_internal.account_differences() as c
        ), added as (
            insert into reaper.byte_deltas (backend, used_bytes, orphan_bytes, reserved_bytes)
            select w.backend,
                   coalesce(sum(w.found - w.booked) filter (where w.kind = 'used'), 0),
                   coalesce(sum(w.found - w.booked) filter (where w.kind = 'orphan'), 0),
                   coalesce(sum(w.found - w.booked) filter (where w.kind = 'reserved'), 0)
              from wrong w
             group by w.backend
        ), audited as (
            insert into reaper.audit (at, who, action, subject, detail)
            select reaper.clock(), session_user, 'repair_accounts', w.backend, format('%s bytes from %s to %s', w.kind, w.booked, w.found)
              from wrong w
        )
        select w.backend, w.kind, w.booked, w.found from wrong w order by w.backend, w.kind;
end;
$$;
comment on function reaper.repair_accounts() is
    'Corrects byte accounts that differ from the rows behind them, and returns them. Audited; changes no other row, deletes nothing. RP006 outside read committed.';
revoke all on function reaper.repair_accounts() from public;
grant execute on function reaper.repair_accounts() to reaper_worker, reaper_ops;
