-- drop_batch: drop_references for a worker: codes and objects come in one row of arrays, which is quicker to send and to read.
create or replace function reaper.drop_batch(p_batch_id uuid)
    returns table (
        short_codes text[], content_hashes text[], backends text[], object_keys text[], sizes bigint[], awaits_standby boolean
    )
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
    v_batch reaper.batches := reaper_internal.release_claimed(p_batch_id);
begin
    return query
        select v_batch.short_codes, v_batch.object_hashes, v_batch.object_backends, v_batch.object_keys, v_batch.object_sizes,
               reaper.waits_for_standby();
end;
$$;
comment on function reaper.drop_batch(uuid) is
    'The same as drop_references, but returns one row: the codes of the deleted pastes, the objects to delete as arrays, and whether to call await_standby before deleting them.';
revoke all on function reaper.drop_batch(uuid) from public;
grant execute on function reaper.drop_batch(uuid) to reaper_worker, reaper_ops;
