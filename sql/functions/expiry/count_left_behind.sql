-- count_left_behind: due pastes that no worker holds and that are not blocked, and marked ones whose batch no worker holds.
create or replace function reaper.count_left_behind()
    returns bigint
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select reaper.count_due()
         - (select count(*) from reaper.blocked b join reaper.pastes p on p.short_code = b.short_code
             where p.expires_at <= reaper.clock() and p.deletion_status is distinct from 'DELETION_IN_PROGRESS')
         + reaper.count_ownerless_rows();
$$;
comment on function reaper.count_left_behind() is
    'Number of due pastes that no worker holds: not claimed and not blocked, or marked in an ownerless batch.';
revoke all on function reaper.count_left_behind() from public;
grant execute on function reaper.count_left_behind() to reaper_worker, reaper_ops, reaper_ro;
