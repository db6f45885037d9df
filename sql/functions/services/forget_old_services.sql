-- forget_old_services: what earlier releases ran and this one does not goes out of the schedule when a worker starts.
-- Named one by one: a service that is merely unknown may be that of a newer release, whose workers run beside ours.
create or replace function reaper.forget_old_services()
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_gone integer;
begin
    -- owed: cleanup_queue and invalidations took its place.
    delete from reaper.services s where s.name in ('owed');
    get diagnostics v_gone = row_count;
    return v_gone;
end;
$$;
comment on function reaper.forget_old_services() is
    'Takes services of earlier releases out of the schedule; returns how many.';
revoke all on function reaper.forget_old_services() from public;
grant execute on function reaper.forget_old_services() to reaper_worker, reaper_ops;
