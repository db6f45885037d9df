-- return_or_disown: let go of a batch whose drop or finish failed, in whatever state that left it. One that is gone was settled.
create or replace function reaper.return_or_disown(p_batch_id uuid)
    returns void
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
declare
    v_state text := (select b.state from reaper.batches b where b.batch_id = p_batch_id for update);
begin
    if v_state = 'CLAIMED' then
        perform reaper.return_batch(p_batch_id);
    elsif v_state = 'RELEASED' then
        perform reaper.disown_batch(p_batch_id);
    end if;
end;
$$;
comment on function reaper.return_or_disown(uuid) is
    'For a worker whose drop or finish failed: returns the rows of a claimed batch, makes a released one ownerless; does nothing if the batch is gone.';
revoke all on function reaper.return_or_disown(uuid) from public;
grant execute on function reaper.return_or_disown(uuid) to reaper_worker, reaper_ops;
