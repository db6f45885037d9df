-- lock_batch: lock a batch, or raise RP001 if the caller no longer holds it.
-- The uuid is the fencing token: a worker that was taken for dead and wakes up is refused here.
create or replace function reaper_internal.lock_batch(p_batch_id uuid, p_states text[])
    returns reaper.batches
    language plpgsql volatile
as $$
declare
    v_batch reaper.batches;
begin
    select * into v_batch from reaper.batches b where b.batch_id = p_batch_id for update;
    if not found or v_batch.state <> all (p_states) then
        perform nextval('reaper.refusals');
        raise exception sqlstate 'RP001' using
            message = format('batch %s is no longer held', coalesce(p_batch_id::text, '(null)')),
            detail  = format('The batch is %s, not %s.', coalesce(lower(v_batch.state), 'gone'), lower(array_to_string(p_states, ' or '))),
            hint    = 'Skip it and continue: the watchdog took it back, another worker adopted it, or it is finished. Nothing is lost.';
    end if;
    return v_batch;
end;
$$;
comment on function reaper_internal.lock_batch(uuid, text[]) is
    'Locks the batch and returns it; raises RP001, counted in reaper.refusals, if it does not exist or is in another state.';
revoke all on function reaper_internal.lock_batch(uuid, text[]) from public;
