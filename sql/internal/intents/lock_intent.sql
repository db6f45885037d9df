-- lock_intent: lock a leased intent; null if its writer settled it, RP001 if the lease expired.
-- The lease is the fencing token: an intent that another worker has leased since is not decided by an older check.
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
            hint    = 'Skip it and continue: the lease expired, and another worker has leased the intent.';
    end if;
    return v_intent;
end;
$$;
comment on function reaper_internal.lock_intent(uuid, uuid) is
    'For finish_intent and return_intent: the locked intent, null if it does not exist any more; RP001, counted in reaper.refusals, if another lease holds it.';
revoke all on function reaper_internal.lock_intent(uuid, uuid) from public;
