-- disown_batch: leave a released batch to the next worker that calls adopt_batch.
create or replace function reaper.disown_batch(p_batch_id uuid)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    perform reaper_internal.lock_batch(p_batch_id, '{RELEASED}');
    update reaper.batches b set worker = null where b.batch_id = p_batch_id;
end;
$$;
comment on function reaper.disown_batch(uuid) is
    'Makes a released batch ownerless, for the next adopt_batch. RP001 if it is no longer held.';
revoke all on function reaper.disown_batch(uuid) from public;
grant execute on function reaper.disown_batch(uuid) to reaper_worker, reaper_ops;
