-- emit_change: tell of a state, unless it is the one that was told last: of any number of callers that see the same state one tells it.
-- Nothing told yet counts as p_usual.
create or replace function reaper_internal.emit_change(p_type text, p_subject text, p_state text, p_usual text, p_data jsonb)
    returns boolean
    language plpgsql volatile
as $$
declare
    v_before text;
begin
    insert into reaper.notified_states (type, subject, state, changed_at)
    values (p_type, p_subject, p_usual, reaper.clock())
        on conflict (type, subject) do nothing;
    select s.state into v_before from reaper.notified_states s
     where s.type = p_type and s.subject = p_subject and s.state <> p_state
       for no key update;
    if not found then
        return false;
    end if;
    update reaper.notified_states s set state = p_state, changed_at = reaper.clock() where s.type = p_type and s.subject = p_subject;
    perform reaper_internal.emit(p_type, p_subject, p_data || jsonb_build_object('from', v_before, 'to', p_state));
    return true;
end;
$$;
comment on function reaper_internal.emit_change(text, text, text, text, jsonb) is
    'Emits an event if p_state is not what was told last of p_subject, with from and to added to its data; returns whether it did. Before the first event the state counts as p_usual.';
revoke all on function reaper_internal.emit_change(text, text, text, text, jsonb) from public;
