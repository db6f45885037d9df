-- released_codes: the codes of a released batch, whose cache entries are to be deleted.
create or replace function reaper.released_codes(p_batch_id uuid)
    returns text[]
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_batch reaper.batches := reaper_internal.lock_batch(p_batch_id, '{RELEASED}');
begin
    return v_batch.short_codes;
end;
$$;
comment on function reaper.released_codes(uuid) is
    'Codes of the pastes of a released batch: delete their cache entries. RP001 if the batch is no longer held.';
revoke all on function reaper.released_codes(uuid) from public;
grant execute on function reaper.released_codes(uuid) to reaper_worker, reaper_ops;
