-- lock_intent: lock a leased intent, or learn that its writer settled it, or that the lease ran out.
-- The lease is the fencing token: what somebody else looks at now is not decided by an older look.
create or replace function reaper_internal.lock_intent(p_intent_id uuid, p_lease uuid)
    returns reaper.put_intents
    language plpgsql volatile
as $$
declare
    v_intent reaper.put_intents;
begin
    select * into v_intent from reaper.put_intents i where i.intent_id = p_intent_id for update;
    if found and v_intent.lease is distinct from p_lease then
        perform nextval('reaper.refusals');
        raise exception sqlstate 'RP001' using
            message = format('lease %s on intent %s is no longer held', coalesce(p_lease::text, '(null)'), p_intent_id),
            hint    = 'Drop it and go on: it ran out, and somebody else looks at the intent.';
    end if;
    return v_intent;
end;
$$;
comment on function reaper_internal.lock_intent(uuid, uuid) is
    'For finish_intent and return_intent: the locked intent, null when it is gone; RP001, counted in reaper.refusals, when somebody else has the lease.';
revoke all on function reaper_internal.lock_intent(uuid, uuid) from public;
