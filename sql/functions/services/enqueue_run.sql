-- enqueue_run: plan a service's next run and queue its jobs, in one transaction.
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
       set next_run_at = p_next
     where s.name = p_name
       and s.next_run_at is not distinct from p_seen
       and s.enabled
       and (s.paused_until is null or s.paused_until <= reaper.clock());
    if not found or p_seen is null then
        return 0;
    end if;

    if p_name = 'drain' then
        select count(*) filter (where reaper.enqueue_job('reaper.drain', 'drain:' || i, jsonb_build_object('slot', i)))
          into v_jobs
          from generate_series(0, (select s.drain_slots from reaper.settings s) - 1) as i;
    elsif p_name like 'policy:%' then
        v_jobs := reaper.enqueue_job('reaper.purge', p_name, jsonb_build_object('policy', substr(p_name, 8)))::integer;
    else
        v_jobs := reaper.enqueue_job('reaper.service', 'service:' || p_name, jsonb_build_object('name', p_name))::integer;
    end if;
    return v_jobs;
end;
$$;
comment on function reaper.enqueue_run(text, timestamptz, timestamptz) is
    'Sets next_run_at to p_next if it still equals p_seen, then queues the service''s jobs (one per slot for the drain) and returns how many. With p_seen null it only plans.';
revoke all on function reaper.enqueue_run(text, timestamptz, timestamptz) from public;
grant execute on function reaper.enqueue_run(text, timestamptz, timestamptz) to reaper_worker, reaper_ops;
