-- set_backend_state: whether new objects are stored on a backend. Stored objects are read and deleted in either state.
create or replace function reaper.set_backend_state(p_name text, p_state text, p_reason text)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_before reaper.backend_list := reaper_internal.lock_backend(p_name);
begin
    perform reaper_internal.require_reason(p_reason);
    if p_state is null or p_state not in ('active', 'readonly') then
        raise exception sqlstate 'RP005' using
            message = format('invalid backend state: %s', coalesce(quote_literal(p_state), 'null')),
            hint    = 'Give active (new objects are stored there) or readonly (stored objects are read and deleted, no new ones are stored).';
    end if;
    update reaper.backend_list b set state = p_state where b.name = p_name;
    perform reaper_internal.record_audit('set_backend_state', p_name, p_reason, format('from %s to %s', v_before.state, p_state));
end;
$$;
comment on function reaper.set_backend_state(text, text, text) is
    'Makes a backend active (new objects are stored there) or readonly (no new objects; reads and deletions continue). A reason is required. Audited.';
revoke all on function reaper.set_backend_state(text, text, text) from public;
grant execute on function reaper.set_backend_state(text, text, text) to reaper_ops;
