-- fail_copies: copies could not be made. Their intents end, their keys are queued if bytes may have been sent, and their contents wait longer
-- each time. What was given back without an error is due at once. Intents that the lease lost are skipped: they ended already.
create or replace function reaper.fail_copies(p_lease uuid, p_intents uuid[], p_errors text[], p_uploaded boolean[])
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_now    timestamptz := reaper.clock();
    v_late   timestamptz := v_now + (select s.intent_min_age from reaper.settings s);
    v_ended  integer := 0;
    v_copy   record;
begin
    for v_copy in
        select i, g.error, coalesce(g.uploaded, true) as uploaded
          from unnest(p_intents, p_errors, p_uploaded) as g (intent_id, error, uploaded)
          join reaper.copy_intents i on i.intent_id = g.intent_id and i.lease = p_lease
         order by i.content_hash
           for update of i
    loop
        perform reaper_internal.drop_copy_intent(v_copy.i, v_copy.uploaded, (v_copy.i).size_bytes, v_now, v_late);
        update reaper.copy_wants w
           set attempts     = w.attempts + case when v_copy.error is null then 0 else 1 end,
               last_error   = coalesce(left(v_copy.error, 1000), w.last_error),
               next_attempt = v_now + case when v_copy.error is null then interval '0'
                                           else least(reaper_internal.retry_pause(w.attempts + 1), interval '1 hour') end
         where w.content_hash = (v_copy.i).content_hash;
        v_ended := v_ended + 1;
    end loop;
    return v_ended;
end;
$$;
comment on function reaper.fail_copies(uuid, uuid[], text[], boolean[]) is
    'Ends the intents of copies that could not be made; returns how many the lease still held. p_errors: null = not begun or given back, due at once; else the content waits, an hour at most. p_uploaded: false only if no byte was sent to the key.';
revoke all on function reaper.fail_copies(uuid, uuid[], text[], boolean[]) from public;
grant execute on function reaper.fail_copies(uuid, uuid[], text[], boolean[]) to reaper_worker, reaper_ops;
