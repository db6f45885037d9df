-- remove_backend: forget a backend that is drained and empty. The lock on reaper.bindings waits for every put and copy that began before, each of
-- which has it too, and every later one sees the backend draining: so nothing can be stored there after the look.
create or replace function reaper.remove_backend(p_name text, p_reason text)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
declare
    v_backend  reaper.backend_list;
    v_remains  text;
begin
    perform reaper_internal.require_read_committed();
    perform reaper_internal.require_reason(p_reason);
    lock table reaper.bindings in access exclusive mode;
    v_backend := reaper_internal.lock_backend(p_name);
    if v_backend.state <> 'draining' then
        raise exception sqlstate 'RP005' using
            message = format('backend %s is %s', p_name, v_backend.state),
            hint    = format('Drain it first: select reaper.set_backend_state(%L, ''draining'', ''why''), or reaper backend drain %s.', p_name, p_name);
    end if;
    select string_agg(format('%s %s (%s)', r.number, r.what, pg_size_pretty(r.bytes)), ', ')
      into v_remains
      from reaper.backend_remains(p_name) as r;
    if v_remains is not null then
        raise exception sqlstate 'RP005' using
            message = format('backend %s is not empty: %s', p_name, v_remains),
            hint    = 'The replicator moves copies, the cleanup queue deletes objects: let them work, then try again. See reaper.backend_remains() and reaper.dlq.';
    end if;
    delete from reaper.copy_moves m where p_name in (m.source, m.destination);
    delete from reaper.circuits c where c.backend = p_name;
    delete from reaper.backend_owners o where o.backend = p_name;
    delete from reaper.byte_deltas d where d.backend = p_name;
    delete from reaper.notified_states s where s.type = 'backend.drained' and s.subject = p_name;
    -- What was found there concerns no one any more; what was used there is still to be paid for, and stays.
    delete from reaper.reconciliations r where r.backend = p_name;
    delete from reaper.sightings s where s.backend = p_name;
    delete from reaper.suspects u where u.backend = p_name;
    delete from reaper.usage_limits u where u.backend = p_name;
    delete from reaper.nearly_full n where n.backend = p_name;
    delete from reaper.backend_list b where b.name = p_name;
    perform reaper_internal.record_audit('remove_backend', p_name, p_reason, format('quota %s', coalesce(v_backend.quota::text, 'none')));
end;
$$;
comment on function reaper.remove_backend(text, text) is
    'Removes a backend that is draining and on which nothing lies, is stored or is queued (backend_remains). Take it out of the configuration first, or the next worker registers it again. A reason is required. Audited. RP005 with what is left there.';
revoke all on function reaper.remove_backend(text, text) from public;
grant execute on function reaper.remove_backend(text, text) to reaper_ops;
