-- commit_put: create the paste. Decided under the content row's lock, in one transaction: existing content gets one more reference,
-- deleted content is created again with the intent's own key, which no running deletion can name, and content without a good copy gets one.
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
    -- bind() and unbind() take this table first, and wait for this transaction: without it they could deadlock over the two views.
    lock table reaper.bindings in access share mode;
    perform reaper_internal.require_rights('pastes', '{SELECT,INSERT}');
    perform reaper_internal.require_rights('content', '{SELECT,INSERT,UPDATE}');
    if p_uploaded is null then
        raise exception sqlstate 'RP005' using
            message = 'p_uploaded must be true or false',
            hint    = 'Give true if an upload to the intent''s key was begun, required or not; else false.';
    end if;
    select * into v_intent from reaper.put_intents i where i.intent_id = p_intent_id for update;
    if not found then
        raise exception sqlstate 'RP003' using
            message = format('intent %s does not exist: committed, aborted or dropped', coalesce(p_intent_id::text, '(null)')),
            hint    = 'Call get_paste first: an earlier commit_put whose answer was lost may have succeeded. If there is no paste, call begin_put again.';
    end if;

    v_stored := reaper_internal.finish_put(v_intent, p_uploaded, v_now);
    return query
        select c.backend, c.object_key, v_stored from reaper.copies_of(v_intent.content_hash) as c limit 1;
end;
$$;
comment on function reaper.commit_put(uuid, boolean) is
    'Creates the paste of an intent; returns where its bytes are stored, and whether they are the uploaded ones. p_uploaded: whether an upload to the intent''s key was begun. '
    'RP002: the content was deleted or has no good copy, upload and commit again. RP003: the intent does not exist any more, begin again. 23505: the code is taken, call abort_put. RP006 outside read committed. RP010: reaper_owner lacks rights on the tables.';
revoke all on function reaper.commit_put(uuid, boolean) from public;
grant execute on function reaper.commit_put(uuid, boolean) to reaper_worker, reaper_app, reaper_ops;
