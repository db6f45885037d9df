-- record_change: note the state that webhooks are told of; returns the former one if it differs, null if that was told already. Of any number of
-- callers that see the same change one gets it, and tells. What was never noted counts as p_usual.
create or replace function reaper_internal.record_change(p_type text, p_subject text, p_state text, p_usual text)
    returns text
    language plpgsql volatile
as $$
declare
    v_before text;
begin
    insert into reaper.notified_states (type, subject, state, changed_at)
    values (p_type, p_subject, p_usual, reaper.clock())
        on conflict (type, subject) do nothing;
    select s.state into v_before
      from reaper.notified_states s
     where s.type = p_type and s.subject = p_subject and s.state <> p_state
       for no key update;
    update reaper.notified_states s
       set state = p_state, changed_at = reaper.clock()
     where s.type = p_type and s.subject = p_subject and s.state <> p_state;
    return v_before;
end;
$$;
comment on function reaper_internal.record_change(text, text, text, text) is
    'Notes a state for which an event may be emitted; returns the former state if it has changed, else null. Call emit() if the change is one to tell.';
revoke all on function reaper_internal.record_change(text, text, text, text) from public;
