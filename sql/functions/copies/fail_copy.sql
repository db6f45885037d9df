-- fail_copy: a copy could not be made. Its intent ends, its key is queued if bytes may have been sent, and the content waits longer each time.
create or replace function reaper.fail_copy(p_intent_id uuid, p_lease uuid, p_error text, p_uploaded boolean default true)
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
    v_intent  reaper.copy_intents := reaper_internal.lock_copy_intent(p_intent_id, p_lease);
begin
    perform reaper_internal.end_copy_intent(v_intent, coalesce(p_uploaded, true), v_intent.size_bytes, v_now,
                                            v_now + (select s.intent_min_age from reaper.settings s));
    update reaper.copy_wants w
       set attempts     = w.attempts + 1,
           last_error   = left(coalesce(p_error, 'no error text'), 1000),
           next_attempt = v_now + least(reaper_internal.retry_pause(w.attempts + 1), interval '1 hour')
     where w.content_hash = v_intent.content_hash;
    return found;
end;
$$;
comment on function reaper.fail_copy(uuid, uuid, text, boolean) is
    'Ends the intent of a copy that could not be made; p_uploaded: false only if no byte was sent to its key. Returns whether the content still wants a copy; it is due again within an hour. RP001 if the lease is lost.';
revoke all on function reaper.fail_copy(uuid, uuid, text, boolean) from public;
grant execute on function reaper.fail_copy(uuid, uuid, text, boolean) to reaper_worker, reaper_ops;
