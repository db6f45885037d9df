-- reap_batch: reap_expired for a worker: the batch comes with its codes and objects, in one row of arrays.
create or replace function reaper.reap_batch(p_limit integer, p_worker text, p_after timestamptz, p_after_code text)
    returns table (
        batch_id uuid, last_expires_at timestamptz, last_short_code text,
        short_codes text[], content_hashes text[], backends text[], object_keys text[], sizes bigint[], awaits_standby boolean
    )
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
    v_reaped  record;
    v_batch   reaper.batches;
begin
    perform reaper_internal.require_worker(p_worker);
    v_reaped := reaper_internal.reap(p_limit, p_worker, p_after, p_after_code);
    v_batch := v_reaped.batch;
    if v_batch.batch_id is not null then
        return query
            select v_batch.batch_id, v_reaped.last_expires, v_reaped.last_code,
                   v_batch.short_codes, v_batch.object_hashes, v_batch.object_backends, v_batch.object_keys, v_batch.object_sizes,
                   reaper.waits_for_standby();
    end if;
end;
$$;
comment on function reaper.reap_batch(integer, text, timestamptz, text) is
    'The same as reap_expired, but returns one row with the codes of the deleted pastes, the objects to delete as arrays, and whether to call await_standby before deleting them.';
revoke all on function reaper.reap_batch(integer, text, timestamptz, text) from public;
grant execute on function reaper.reap_batch(integer, text, timestamptz, text) to reaper_worker, reaper_ops;
