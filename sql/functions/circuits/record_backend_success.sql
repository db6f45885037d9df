-- record_backend_success: the backend answered. Closes its circuit, also one that is open or being probed.
-- If there is nothing to reset it only reads, so it may be called after every request.
create or replace function reaper.record_backend_success(p_backend text)
    returns boolean
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
declare
    v_now     timestamptz := reaper.clock();
    v_before  text;
begin
    if not exists (select from reaper.circuits c
                    where c.backend = p_backend and (c.state <> 'closed' or c.failures > 0)) then
        return false;
    end if;
    select c.state into v_before from reaper.circuits c where c.backend = p_backend for no key update;
    perform reaper_internal.close_circuit(p_backend, v_now);
    return v_before <> 'closed';
end;
$$;
comment on function reaper.record_backend_success(text) is
    'Records that the backend answered a request: resets its failures and closes its circuit. Returns whether the circuit was open.';
revoke all on function reaper.record_backend_success(text) from public;
grant execute on function reaper.record_backend_success(text) to reaper_worker, reaper_app, reaper_ops;
