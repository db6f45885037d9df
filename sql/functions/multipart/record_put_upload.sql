-- record_put_upload: write the name of an upload in parts into its intent, before the first part is sent, so that it is known whose it is.
create or replace function reaper.record_put_upload(p_intent_id uuid, p_upload_id text)
    returns boolean
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
begin
    update reaper.put_intents i set upload_id = p_upload_id where i.intent_id = p_intent_id;
    return found;
end;
$$;
comment on function reaper.record_put_upload(uuid, text) is
    'Records the upload in parts that belongs to a put; false if the intent is gone, so that the upload is to be given up.';
revoke all on function reaper.record_put_upload(uuid, text) from public;
grant execute on function reaper.record_put_upload(uuid, text) to reaper_worker, reaper_app, reaper_ops;
