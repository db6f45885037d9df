-- count_due: how many pastes are due and not claimed yet.
create or replace function reaper.count_due()
    returns bigint
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select count(*)
      from reaper.pastes p
     where p.expires_at <= reaper.clock() and p.deletion_status is distinct from 'DELETION_IN_PROGRESS';
$$;
comment on function reaper.count_due() is
    'Number of pastes that are due and not claimed yet.';
revoke all on function reaper.count_due() from public;
grant execute on function reaper.count_due() to reaper_worker, reaper_ops, reaper_ro;
