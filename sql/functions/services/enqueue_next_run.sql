-- enqueue_next_run: a run ended before its work was done: queue the next one. A paused service is due when its pause ends, a disabled one is not.
-- The drain's slot 0 also starts slots that do not run, and a slot beyond settings.drain_slots ends: a changed number holds within seconds.
create or replace function reaper.enqueue_next_run(p_name text, p_task text, p_lock text, p_args jsonb)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_now   timestamptz := reaper.clock();
    v_slot  integer     := (p_args ->> 'slot')::integer;
    v_jobs  integer;
begin
    update reaper.services s set next_run_at = v_now where s.name = p_name and s.enabled and s.paused_until > v_now;
    if found or not exists (select from reaper.services s where s.name = p_name and s.enabled) then
        return 0;
    end if;
    if p_name <> 'drain' then
        return reaper.enqueue_job(p_task, p_lock, p_args)::integer;
    end if;
    select count(*) filter (where reaper.enqueue_job(p_task, 'drain:' || i, jsonb_build_object('slot', i)))
      into v_jobs
      from generate_series(0, (select g.drain_slots from reaper.settings g) - 1) as i
     where i = v_slot
        or (v_slot = 0 and not exists (select from reaper.jobs j where j.lock = 'drain:' || i and j.status in ('todo', 'doing')));
    return v_jobs;
end;
$$;
comment on function reaper.enqueue_next_run(text, text, text, jsonb) is
    'Queues the next run of a service whose run ended before its work was done, and returns the number of jobs; 0 if it is disabled, or paused: then it is due when the pause ends. '
    'For the drain: the slot in p_args if settings.drain_slots still has it, and with slot 0 all slots without a job.';
revoke all on function reaper.enqueue_next_run(text, text, text, jsonb) from public;
grant execute on function reaper.enqueue_next_run(text, text, text, jsonb) to reaper_worker, reaper_ops;
