-- enqueue_run: plan a service's next run and queue its jobs, in one transaction.
-- The start is recorded: by it the view health judges whether the run begins, and whether the drain is late.
-- If several ticks saw the same time, only one finds the row unchanged; several missed runs are caught up with one.
create or replace function reaper.enqueue_run(p_name text, p_seen timestamptz, p_next timestamptz)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_jobs integer := 0;
begin
    update reaper.services s
       set next_run_at   = p_next,
           planned_zone  = (select g.time_zone from reaper.settings g),
           waiting_since = case when p_seen is null then s.waiting_since
                                else coalesce(s.waiting_since, reaper_internal.start_of_run(p_seen, s.paused_until)) end,
           recent_starts = case when p_seen is null or p_name <> 'drain' then s.recent_starts
                                else reaper_internal.add_start(s.recent_starts, reaper_internal.start_of_run(p_seen, s.paused_until)) end
     where s.name = p_name
       and s.next_run_at is not distinct from p_seen
       and s.enabled
       and (s.paused_until is null or s.paused_until <= reaper.clock());
    if not found or p_seen is null then
        return 0;
    end if;

    if p_name = 'drain' then
        select count(*) filter (where reaper.enqueue_job('reaper:drain', 'drain:' || i, jsonb_build_object('slot', i)))
          into v_jobs
          from generate_series(0, (select s.drain_slots from reaper.settings s) - 1) as i;
    elsif p_name like 'policy:%' then
        v_jobs := reaper.enqueue_job('reaper:purge', p_name, jsonb_build_object('policy', substr(p_name, 8)))::integer;
    else
        v_jobs := reaper.enqueue_job('reaper:service', 'service:' || p_name, jsonb_build_object('name', p_name))::integer;
    end if;
    return v_jobs;
end;
$$;
comment on function reaper.enqueue_run(text, timestamptz, timestamptz) is
    'Sets next_run_at to p_next if it still equals p_seen, then queues the service''s jobs (one per slot for the drain) and returns how many. With p_seen null it only plans.';
revoke all on function reaper.enqueue_run(text, timestamptz, timestamptz) from public;
grant execute on function reaper.enqueue_run(text, timestamptz, timestamptz) to reaper_worker, reaper_ops;
