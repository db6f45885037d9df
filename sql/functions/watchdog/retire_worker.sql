-- retire_worker: end a worker in good order; other workers get its batches at once instead of after settings.worker_silence.
create or replace function reaper.retire_worker(p_worker text)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    delete from reaper.workers w where w.worker = p_worker;
    update reaper.services s set lease_token = null, lease_until = null, lease_worker = null where s.lease_worker = p_worker;
    return reaper.return_unknown_batches(p_worker, '{}');
end;
$$;
comment on function reaper.retire_worker(text) is
    'Removes the worker''s heartbeat, ends its leases and releases its hold on all its batches. Returns how many it still held.';
revoke all on function reaper.retire_worker(text) from public;
grant execute on function reaper.retire_worker(text) to reaper_worker, reaper_ops;
