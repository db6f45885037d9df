-- check_accounts: the byte accounts must equal the rows that they stand for, backend by backend.
create or replace function reaper.check_accounts()
    returns table (invariant text, subject text, detail text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select 'the accounts equal the rows', c.backend, format('%s bytes are %s, the rows say %s', c.kind, c.booked, c.found)
      from reaper.account_differences() as c;
$$;
comment on function reaper.check_accounts() is
    'Internal to check_invariants: what is wrong with the byte accounts.';
revoke all on function reaper.check_accounts() from public;
