-- set_backend_state: whether new objects are stored on a backend, and whether its copies are moved off. Stored objects are read and deleted in
-- any state. What is to be moved is found by the sweep, in pages: writers lock this row.
create or replace function reaper.set_backend_state(p_name text, p_state text, p_reason text)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_before reaper.backend_list := reaper_internal.lock_backend(p_name);
begin
    perform reaper_internal.require_reason(p_reason);
    if p_state is null or p_state not in ('active', 'readonly', 'draining') then
        raise exception sqlstate 'RP005' using
            message = format('invalid backend state: %s', coalesce(quote_literal(p_state), 'null')),
            hint    = 'Give active (new objects are stored there), readonly (stored objects are read and deleted, no new ones are stored) or draining (likewise, and copies are moved to other backends).';
    end if;
    if p_state = 'draining' and p_name = 'default' and reaper_internal.own_key_stays() then
        raise exception sqlstate 'RP005' using
            message = 'backend default cannot be drained: readers of the bound table may look for objects there under their key alone',
            hint    = 'When all readers ask get_paste() or copies_of(): update reaper.settings set readers_use_doors = true. Where object_key is an expression, no object can be moved.';
    end if;
    update reaper.backend_list b set state = p_state where b.name = p_name;
    -- Drained again later, it is told again.
    delete from reaper.notified_states s where s.type = 'backend.drained' and s.subject = p_name;
    perform reaper_internal.record_audit('set_backend_state', p_name, p_reason, format('from %s to %s', v_before.state, p_state));
end;
$$;
comment on function reaper.set_backend_state(text, text, text) is
    'Makes a backend active (new objects are stored there), readonly (no new objects; reads and deletions continue) or draining (readonly, and all copies are moved to other backends; then remove_backend). A reason is required. Audited.';
revoke all on function reaper.set_backend_state(text, text, text) from public;
grant execute on function reaper.set_backend_state(text, text, text) to reaper_ops;
