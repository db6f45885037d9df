-- held_uploads: which of these uploads in parts belong to a put or a copy that is not settled? They are never aborted, however old.
-- A key belongs to one intent alone. Where the intent names another upload, this one was begun before it and given up.
create or replace function reaper.held_uploads(p_backend text, p_keys text[], p_upload_ids text[])
    returns table (upload_id text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    select u.upload_id
      from unnest(p_keys, p_upload_ids) as u (object_key, upload_id)
     where exists (select from reaper.put_intents i
                    where i.backend = p_backend and i.object_key = u.object_key and coalesce(i.upload_id, u.upload_id) = u.upload_id)
        or exists (select from reaper.copy_intents i
                    where i.destination = p_backend and i.object_key = u.object_key and coalesce(i.upload_id, u.upload_id) = u.upload_id);
$$;
comment on function reaper.held_uploads(text, text[], text[]) is
    'Those of these uploads in parts that an unsettled put or copy intent holds.';
revoke all on function reaper.held_uploads(text, text[], text[]) from public;
grant execute on function reaper.held_uploads(text, text[], text[]) to reaper_worker, reaper_ops, reaper_ro;
