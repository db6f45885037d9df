-- record_throttle: record why a worker is waiting, for reaper.fleet.
create or replace function reaper.record_throttle(p_worker text, p_reason text)
    returns void
    language sql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    -- Reasons name figures that change; the wait is the same.
    update reaper.workers w
       set throttled = left(p_reason, 500),
           throttled_since = case when p_reason is not null then coalesce(w.throttled_since, reaper.clock()) end
     where w.worker = p_worker and w.throttled is distinct from left(p_reason, 500);
$$;
comment on function reaper.record_throttle(text, text) is
    'Records why the worker is waiting before its next batch; null = throttle lifted.';
revoke all on function reaper.record_throttle(text, text) from public;
grant execute on function reaper.record_throttle(text, text) to reaper_worker, reaper_ops;
