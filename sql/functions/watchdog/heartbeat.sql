-- heartbeat: record that a worker is alive. After settings.worker_silence without one, other workers may take its batches.
create or replace function reaper.heartbeat(p_worker text)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_now timestamptz := reaper.clock();
begin
    perform reaper_internal.require_worker(p_worker);
    insert into reaper.workers as w (worker, started_at, beat_at)
    values (p_worker, v_now, v_now)
        on conflict (worker) do update
       set beat_at = v_now;
end;
$$;
comment on function reaper.heartbeat(text) is
    'Records that the worker is alive; call it every few seconds while it holds a batch.';
revoke all on function reaper.heartbeat(text) from public;
grant execute on function reaper.heartbeat(text) to reaper_worker, reaper_ops;
