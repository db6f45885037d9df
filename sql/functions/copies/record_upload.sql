-- record_upload: remember the multipart upload of a copy, so that a listing of uploads tells whether it is still under way.
create or replace function reaper.record_upload(p_intent_id uuid, p_lease uuid, p_upload_id text)
    returns boolean
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
begin
    update reaper.copy_intents i set upload_id = p_upload_id where i.intent_id = p_intent_id and i.lease = p_lease;
    return found;
end;
$$;
comment on function reaper.record_upload(uuid, uuid, text) is
    'Records the identifier of the multipart upload of a copy; false if the lease does not hold the copy any more.';
revoke all on function reaper.record_upload(uuid, uuid, text) from public;
grant execute on function reaper.record_upload(uuid, uuid, text) to reaper_worker, reaper_ops;
