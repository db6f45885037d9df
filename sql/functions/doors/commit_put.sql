-- commit_put: make the paste. Decided under the content row's lock, in one transaction: content that lives gets one more
-- reference, content that is gone is made anew with the intent's own key, which no deletion under way can name.
create or replace function reaper.commit_put(p_intent_id uuid, p_uploaded boolean)
    returns table (backend text, object_key text, stored boolean)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
#variable_conflict use_column
declare
    v_now     timestamptz := reaper.clock();
    v_intent  reaper.put_intents;
    v_stored  boolean;
begin
    perform reaper_internal.require_read_committed();
    if p_uploaded is null then
        raise exception sqlstate 'RP005' using
            message = 'p_uploaded must be true or false',
            hint    = 'true when an upload to the intent''s key was begun, whether or not it was required; else false.';
    end if;
    select * into v_intent from reaper.put_intents i where i.intent_id = p_intent_id for update;
    if not found then
        raise exception sqlstate 'RP003' using
            message = format('intent %s is gone', coalesce(p_intent_id::text, '(null)')),
            hint    = 'Begin again. If the answer of an earlier commit was lost, ask get_paste first: it may have succeeded.';
    end if;

    v_stored := reaper_internal.finish_put(v_intent, p_uploaded, v_now);
    return query
        select c.backend, c.object_key, v_stored from reaper.copies_of(v_intent.content_hash) as c limit 1;
end;
$$;
comment on function reaper.commit_put(uuid, boolean) is
    'Makes the paste of an intent; says where its bytes lie, and whether they are the ones that were uploaded. p_uploaded: whether an upload to the intent''s key was begun. '
    'RP002: the content is gone, upload and commit again. RP003: the intent is gone, begin again. 23505: the code is taken, call abort_put. RP006 outside read committed.';
revoke all on function reaper.commit_put(uuid, boolean) from public;
grant execute on function reaper.commit_put(uuid, boolean) to reaper_worker, reaper_app, reaper_ops;
