-- is_silent: did this worker stop sending heartbeats? A worker that never sent one is judged by the age of its batches alone.
create or replace function reaper.is_silent(p_worker text, p_now timestamptz)
    returns boolean
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select exists (select
                     from reaper.workers w
                    cross join reaper.settings s
                    where w.worker = p_worker and w.beat_at < p_now - s.worker_silence);
$$;
comment on function reaper.is_silent(text, timestamptz) is
    'Whether the worker''s last heartbeat is older than settings.worker_silence.';
revoke all on function reaper.is_silent(text, timestamptz) from public;
grant execute on function reaper.is_silent(text, timestamptz) to reaper_worker, reaper_ops, reaper_ro;
