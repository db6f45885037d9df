-- begin_run: record that a worker holds the service lock and starts a run.
create or replace function reaper.begin_run(p_name text, p_worker text)
    returns void
    language sql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    update reaper.services s set last_started_at = reaper.clock(), last_worker = p_worker where s.name = p_name;
$$;
comment on function reaper.begin_run(text, text) is
    'Records that p_worker starts a run of the service.';
revoke all on function reaper.begin_run(text, text) from public;
grant execute on function reaper.begin_run(text, text) to reaper_worker, reaper_ops;
