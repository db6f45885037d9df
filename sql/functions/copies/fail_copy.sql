-- fail_copy: fail_copies for one copy.
create or replace function reaper.fail_copy(p_intent_id uuid, p_lease uuid, p_error text, p_uploaded boolean default true)
    returns boolean
    language sql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
    select reaper.fail_copies(p_lease, array[p_intent_id], array[p_error], array[p_uploaded]) = 1;
$$;
comment on function reaper.fail_copy(uuid, uuid, text, boolean) is
    'fail_copies for one copy; false if the lease does not hold it any more.';
revoke all on function reaper.fail_copy(uuid, uuid, text, boolean) from public;
grant execute on function reaper.fail_copy(uuid, uuid, text, boolean) to reaper_worker, reaper_ops;
