-- close_circuit: the backend is well. What went wrong before counts no longer; the last error stays, for who asks what happened.
create or replace function reaper_internal.close_circuit(p_backend text, p_now timestamptz)
    returns void
    language sql volatile
as $$
    update reaper.circuits c
       set state = 'closed', failures = 0, trips = 0, retry_at = null, probe = null, probe_started_at = null,
           changed_at = case when c.state = 'closed' then c.changed_at else p_now end
     where c.backend = p_backend;
$$;
comment on function reaper_internal.close_circuit(text, timestamptz) is
    'For record_backend_success and finish_probe: closes the circuit and forgets its failures.';
revoke all on function reaper_internal.close_circuit(text, timestamptz) from public;
