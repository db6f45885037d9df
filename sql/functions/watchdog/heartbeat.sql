-- heartbeat: record that a worker is alive. After settings.worker_silence without one, other workers may take its batches.
create or replace function reaper.heartbeat(p_worker text, p_queue_worker bigint default null, p_degraded jsonb default null, p_takes_jobs boolean default true)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_now timestamptz := reaper.clock();
begin
    perform reaper_internal.require_worker(p_worker);
    -- The verdict reads it as an object; anything else would make that fail for all.
    if jsonb_typeof(p_degraded) <> 'object' then
        raise exception sqlstate 'RP005' using
            message = format('p_degraded is no JSON object: %s', left(p_degraded::text, 100)),
            hint    = 'Give each service that does not answer and why: {"redis": "no connection"}; null or {} if all do.';
    end if;
    insert into reaper.workers as w (worker, started_at, beat_at, session_pid, queue_worker, degraded, takes_jobs)
    values (p_worker, v_now, v_now, pg_backend_pid(), p_queue_worker, nullif(p_degraded, '{}'), coalesce(p_takes_jobs, true))
        on conflict (worker) do update
       set beat_at = v_now, session_pid = excluded.session_pid, queue_worker = coalesce(excluded.queue_worker, w.queue_worker),
           degraded = excluded.degraded, takes_jobs = excluded.takes_jobs;
end;
$$;
comment on function reaper.heartbeat(text, bigint, jsonb, boolean) is
    'Records that the worker is alive; call it every few seconds while it holds a batch, always in the same session. p_queue_worker is the number under which it takes jobs; '
    'p_degraded: services that do not answer it and why, as {"redis": "no connection"}, for the verdict; RP005 if it is no object. '
    'p_takes_jobs: false for a process that works by itself; the verdict counts it as no worker.';
revoke all on function reaper.heartbeat(text, bigint, jsonb, boolean) from public;
grant execute on function reaper.heartbeat(text, bigint, jsonb, boolean) to reaper_worker, reaper_ops;
