-- return_batch: end a claim without deleting anything. Rows that another transaction holds stay marked, in an ownerless batch that the
-- watchdog tries again.
create or replace function reaper.return_batch(p_batch_id uuid)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_batch     reaper.batches := reaper_internal.lock_batch(p_batch_id, '{CLAIMED}');
    v_returned  record;
begin
    select * into v_returned from reaper_internal.return_rows(v_batch.short_codes, v_batch.other_statuses);
    if v_returned.busy_codes = '{}' then
        delete from reaper.batches b where b.batch_id = p_batch_id;
    else
        update reaper.batches b
           set batch_id = gen_random_uuid(), worker = null, short_codes = v_returned.busy_codes, places = null,
               other_statuses = reaper_internal.statuses_of(v_batch.other_statuses, v_returned.busy_codes)
         where b.batch_id = p_batch_id;
    end if;
    return v_returned.returned;
end;
$$;
comment on function reaper.return_batch(uuid) is
    'Puts the rows of a claimed batch back to the status that they had and ends the batch; returns how many rows. RP001 if it is no longer held.';
revoke all on function reaper.return_batch(uuid) from public;
grant execute on function reaper.return_batch(uuid) to reaper_worker, reaper_ops;
