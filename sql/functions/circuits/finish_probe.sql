-- finish_probe: record how a probe ended. The token is required: a probe that counted as lost and answers late must not close a circuit
-- that another process has probed since, nor open one that works again.
create or replace function reaper.finish_probe(p_backend text, p_probe uuid, p_error text default null)
    returns boolean
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
declare
    v_now timestamptz := reaper.clock();
begin
    perform from reaper.circuits c where c.backend = p_backend and c.probe = p_probe for no key update;
    if not found then
        return false;
    end if;
    if p_error is null then
        perform reaper_internal.close_circuit(p_backend, v_now);
    else
        update reaper.circuits c
           set state = 'open', trips = c.trips + 1, probe = null, probe_started_at = null, changed_at = v_now,
               last_error = left(p_error, 1000),
               retry_at = v_now + reaper_internal.circuit_pause(c.trips)
         where c.backend = p_backend;
    end if;
    return true;
end;
$$;
comment on function reaper.finish_probe(text, uuid, text) is
    'Records the result of a probe: without an error the circuit closes, with one it stays open for twice as long. Returns false, and changes nothing, if the token is outdated.';
revoke all on function reaper.finish_probe(text, uuid, text) from public;
grant execute on function reaper.finish_probe(text, uuid, text) to reaper_worker, reaper_ops;
