-- lock_copy_intent: lock the intent of a copy; RP001 if it ended. An intent is never leased to another process: when its lease has run out it
-- is dropped, so that the uuid of the intent and its lease fence a process that comes back late.
create or replace function reaper_internal.lock_copy_intent(p_intent_id uuid, p_lease uuid)
    returns reaper.copy_intents
    language plpgsql volatile
as $$
declare
    v_intent reaper.copy_intents;
begin
    select * into v_intent from reaper.copy_intents i where i.intent_id = p_intent_id and i.lease = p_lease for update;
    if not found then
        perform nextval('reaper.refusals');
        raise exception sqlstate 'RP001' using
            message = format('lease %s on copy %s is no longer held', coalesce(p_lease::text, '(null)'), coalesce(p_intent_id::text, '(null)')),
            hint    = 'Skip it and continue, and delete nothing: the copy was committed or failed before, or its lease expired and its object is queued for deletion.';
    end if;
    return v_intent;
end;
$$;
comment on function reaper_internal.lock_copy_intent(uuid, uuid) is
    'For commit_copy and fail_copy: the locked intent; RP001, counted in reaper.refusals, if it ended or another lease holds it.';
revoke all on function reaper_internal.lock_copy_intent(uuid, uuid) from public;
