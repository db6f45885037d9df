-- return_unknown_batches: take batches from a worker that does not know of them, because the answer that named them was lost.
-- Without this they would stay with a live worker until they are two hours old.
create or replace function reaper.return_unknown_batches(p_worker text, p_known uuid[])
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_batch  record;
    v_count  integer := 0;
begin
    for v_batch in
        select b.batch_id, b.state
          from reaper.batches b
         where b.worker = p_worker and b.batch_id <> all (coalesce(p_known, '{}'))
           for update skip locked
    loop
        if v_batch.state = 'CLAIMED' then
            perform reaper.return_batch(v_batch.batch_id);
        else
            perform reaper.disown_batch(v_batch.batch_id);
        end if;
        v_count := v_count + 1;
    end loop;
    return v_count;
end;
$$;
comment on function reaper.return_unknown_batches(text, uuid[]) is
    'Returns the claimed and disowns the released batches of p_worker that are not in p_known; for a worker whose connection broke. Returns how many.';
revoke all on function reaper.return_unknown_batches(text, uuid[]) from public;
grant execute on function reaper.return_unknown_batches(text, uuid[]) to reaper_worker, reaper_ops;
