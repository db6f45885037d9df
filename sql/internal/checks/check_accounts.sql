-- check_accounts: the byte accounts must equal the rows behind them, for each backend.
create or replace function reaper_internal.check_accounts()
    returns table (invariant text, subject text, detail text)
    language sql stable
as $$
    select 'the accounts equal the rows', c.backend, format('%s bytes: account %s, rows %s', c.kind, c.booked, c.found)
      from reaper_internal.account_differences() as c;
$$;
comment on function reaper_internal.check_accounts() is
    'For check_invariants: byte accounts that differ from the rows behind them.';
revoke all on function reaper_internal.check_accounts() from public;
