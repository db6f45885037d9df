-- service_lock_key: second key of the advisory lock that keeps runs of a service apart: pg_try_advisory_lock(1919246704, key).
create or replace function reaper.service_lock_key(p_name text)
    returns integer
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select s.service_key from reaper.services s where s.name = p_name;
$$;
comment on function reaper.service_lock_key(text) is
    'Second key of the service''s advisory lock; the first is 1919246704, which keeps these locks apart from those of other applications.';
revoke all on function reaper.service_lock_key(text) from public;
grant execute on function reaper.service_lock_key(text) to reaper_worker, reaper_ops;
