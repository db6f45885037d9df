-- return_intent: end the lease of an intent whose backend did not answer; the intent is not decided. It is due again soon, for it holds
-- reserved bytes, and is never dropped before its object was checked.
create or replace function reaper.return_intent(p_intent_id uuid, p_lease uuid, p_error text)
    returns boolean
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_now     timestamptz := reaper.clock();
    v_intent  reaper.put_intents := reaper_internal.lock_intent(p_intent_id, p_lease);
begin
    update reaper.put_intents i
       set attempts     = i.attempts + 1,
           last_error   = left(p_error, 1000),
           lease        = null,
           next_attempt = v_now + least(reaper_internal.retry_pause(i.attempts + 1), interval '10 minutes')
     where i.intent_id = v_intent.intent_id;
    return found;
end;
$$;
comment on function reaper.return_intent(uuid, uuid, text) is
    'Ends the lease of an intent because its backend did not answer; it is due again within ten minutes. False if its writer settled it. RP001 if the lease is no longer held.';
revoke all on function reaper.return_intent(uuid, uuid, text) from public;
grant execute on function reaper.return_intent(uuid, uuid, text) to reaper_worker, reaper_ops;
