-- close_circuit: reset the failures of a backend that works again; the last error is kept for reference. Callers hold the row's lock, so of
-- any number of them one tells that the circuit closed.
create or replace function reaper_internal.close_circuit(p_backend text, p_now timestamptz)
    returns void
    language plpgsql volatile
as $$
declare
    v_was_open boolean := exists (select from reaper.circuits c where c.backend = p_backend and c.state <> 'closed');
begin
    update reaper.circuits c
       set state = 'closed', failures = 0, trips = 0, retry_at = null, failing_since = null, probe = null, probe_started_at = null,
           changed_at = case when c.state = 'closed' then c.changed_at else p_now end
     where c.backend = p_backend;
    if v_was_open then
        perform reaper_internal.emit_circuit('circuit.closed', p_backend);
    end if;
end;
$$;
comment on function reaper_internal.close_circuit(text, timestamptz) is
    'For record_backend_success and finish_probe: closes the circuit and resets its failures.';
revoke all on function reaper_internal.close_circuit(text, timestamptz) from public;
