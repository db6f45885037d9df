-- drop_references: release the references of a batch and return the objects that no content needs any more.
create or replace function reaper.drop_references(p_batch_id uuid)
    returns table (content_hash text, backend text, object_key text, size_bytes bigint)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
    v_batch reaper.batches := reaper_internal.release_claimed(p_batch_id);
begin
    return query
        select o.content_hash, o.backend, o.object_key, o.size_bytes
          from unnest(v_batch.object_hashes, v_batch.object_backends, v_batch.object_keys, v_batch.object_sizes)
               as o (content_hash, backend, object_key, size_bytes);
end;
$$;
comment on function reaper.drop_references(uuid) is
    'Deletes the batch''s paste rows that are still marked and still expired, subtracts their references, deletes the content rows '
    'that reach zero, and returns their objects, one per copy: commit, delete those, then call finish_batch. RP001 if the batch is no longer held, RP006 outside read committed, RP010 if the binding does not hold.';
revoke all on function reaper.drop_references(uuid) from public;
grant execute on function reaper.drop_references(uuid) to reaper_worker, reaper_ops;
