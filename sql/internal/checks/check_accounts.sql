-- check_accounts: the byte accounts must equal the rows that they stand for, backend by backend.
create or replace function reaper_internal.check_accounts()
    returns table (invariant text, subject text, detail text)
    language sql stable
as $$
    select 'the accounts equal the rows', c.backend, format('%s bytes are %s, the rows say %s', c.kind, c.booked, c.found)
      from reaper_internal.account_differences() as c;
$$;
comment on function reaper_internal.check_accounts() is
    'For check_invariants: what is wrong with the byte accounts.';
revoke all on function reaper_internal.check_accounts() from public;
