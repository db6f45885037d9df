-- commit_copy: the bytes are stored, the copy becomes one. Decided under the content row's lock: if the content is gone, or needs no copy there
-- any more, the new object is queued for deletion; else location, byte accounts, and for a move or repair the end of the copy that it replaces
-- are one transaction, so that no instant has fewer good copies than before.
create or replace function reaper.commit_copy(
    p_intent_id  uuid,
    p_lease      uuid,
    p_source     text,
    p_size       bigint,
    p_sha256     text,
    p_verified   boolean
)
    returns text
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_now      timestamptz := reaper.clock();
    v_intent   reaper.copy_intents;
    v_outcome  text;
begin
    perform reaper_internal.require_read_committed();
    lock table reaper.bindings in access share mode;
    perform reaper_internal.commit_durably();
    v_intent := reaper_internal.lock_copy_intent(p_intent_id, p_lease);
    perform reaper_internal.require_copied(v_intent, p_size, p_sha256, p_verified);
    v_outcome := reaper_internal.judge_copy(v_intent, p_source, p_size, p_sha256, v_now);
    if v_outcome in ('content_gone', 'not_needed') then
        perform reaper_internal.end_copy_intent(v_intent, true, p_size, v_now, v_now);
    else
        v_outcome := reaper_internal.store_copy(v_intent, p_source, p_size, p_sha256, p_verified, v_now);
    end if;
    if v_outcome = 'content_gone' then
        delete from reaper.copy_wants w where w.content_hash = v_intent.content_hash;
    else
        perform reaper_internal.settle_needs(v_intent.content_hash, v_now);
    end if;
    return v_outcome;
end;
$$;
comment on function reaper.commit_copy(uuid, uuid, text, bigint, text, boolean) is
    'Makes the stored object of an intent a copy of its content: copied, moved or repaired; content_gone or not_needed if it is queued for deletion instead. p_source: the backend that was read; p_size, p_sha256 (null = not computed): of the stored bytes; '
    'p_verified: whether the stored object was compared. RP001 if the lease is lost (delete nothing), RP005 if the bytes are not the content''s or a move or repair was not verified, RP006 outside read committed.';
revoke all on function reaper.commit_copy(uuid, uuid, text, bigint, text, boolean) from public;
grant execute on function reaper.commit_copy(uuid, uuid, text, bigint, text, boolean) to reaper_worker, reaper_ops;
