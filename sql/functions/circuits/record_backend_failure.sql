-- record_backend_failure: a request got no answer from the backend. settings.circuit_failures of them in a row, of all processes
-- together, open its circuit. Failures reported while it is open or being probed change nothing: a hundred requests that were running
-- when the backend failed count as one trip.
create or replace function reaper.record_backend_failure(p_backend text, p_error text)
    returns text
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
declare
    v_now    timestamptz := reaper.clock();
    v_state  text;
begin
    insert into reaper.circuits (backend, changed_at) values (p_backend, v_now) on conflict (backend) do nothing;
    update reaper.circuits c
       set failures   = c.failures + 1,
           last_error = left(coalesce(p_error, 'no error text'), 1000)
     where c.backend = p_backend and c.state = 'closed';
    update reaper.circuits c
       set state      = 'open',
           trips      = c.trips + 1,
           changed_at = v_now,
           failing_since = coalesce(c.failing_since, v_now),
           retry_at   = v_now + reaper_internal.circuit_pause(c.trips)
      from reaper.settings s
     where c.backend = p_backend and c.state = 'closed' and c.failures >= s.circuit_failures;
    if found then
        perform reaper_internal.emit_circuit('circuit.opened', p_backend);
    end if;
    select c.state into v_state from reaper.circuits c where c.backend = p_backend;
    return v_state;
end;
$$;
comment on function reaper.record_backend_failure(text, text) is
    'Records that a request to the backend got no answer, and returns the state of its circuit: closed, open or half_open. '
    'Call it in a transaction of its own. An error response about one object is an answer: report that with record_backend_success.';
revoke all on function reaper.record_backend_failure(text, text) from public;
grant execute on function reaper.record_backend_failure(text, text) to reaper_worker, reaper_app, reaper_ops;
