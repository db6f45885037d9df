-- abort_put: give up a put. Without this call the pending reaper would drop the intent later.
create or replace function reaper.abort_put(p_intent_id uuid, p_uploaded boolean default true)
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
    v_intent  reaper.put_intents;
begin
    select * into v_intent from reaper.put_intents i where i.intent_id = p_intent_id for update;
    if not found then
        return false;
    end if;
    perform reaper_internal.drop_intent(v_intent, coalesce(p_uploaded, true), v_now);
    return true;
end;
$$;
comment on function reaper.abort_put(uuid, boolean) is
    'Ends an intent without a paste and frees its reservation; false if the intent does not exist any more. p_uploaded: false only if no upload to its key was ever begun.';
revoke all on function reaper.abort_put(uuid, boolean) from public;
grant execute on function reaper.abort_put(uuid, boolean) to reaper_worker, reaper_app, reaper_ops;
