-- record_skipped_run: count a run that was skipped because another worker held the service lock.
create or replace function reaper.record_skipped_run(p_name text)
    returns void
    language sql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    update reaper.services s set skipped = s.skipped + 1 where s.name = p_name;
$$;
comment on function reaper.record_skipped_run(text) is
    'Counts a run that was skipped because another worker held the service lock.';
revoke all on function reaper.record_skipped_run(text) from public;
grant execute on function reaper.record_skipped_run(text) to reaper_worker, reaper_ops;
