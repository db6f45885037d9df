-- emit_circuit: tell that a circuit opened or closed, in the transaction that opens or closes it.
create or replace function reaper_internal.emit_circuit(p_type text, p_backend text)
    returns void
    language sql volatile
as $$
    select reaper_internal.emit(p_type, p_backend, jsonb_build_object('backend', c.backend, 'error', c.last_error, 'retry_at', c.retry_at))
      from reaper.circuits c
     where c.backend = p_backend;
$$;
comment on function reaper_internal.emit_circuit(text, text) is
    'Emits circuit.opened or circuit.closed for a backend, with its circuit as it is now.';
revoke all on function reaper_internal.emit_circuit(text, text) from public;
