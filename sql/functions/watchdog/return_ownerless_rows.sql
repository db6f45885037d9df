-- return_ownerless_rows: give back rows that a drop had to leave because somebody held them; says whether there were any.
create or replace function reaper.return_ownerless_rows()
    returns boolean
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_batch_id  uuid;
    v_rows      integer := 0;
begin
    for v_batch_id in
        select b.batch_id from reaper.batches b where b.state = 'CLAIMED' and b.worker is null for update skip locked
    loop
        v_rows := v_rows + reaper.return_batch(v_batch_id);
    end loop;
    return v_rows > 0;
end;
$$;
comment on function reaper.return_ownerless_rows() is
    'Gives back the rows of ownerless claimed batches that are free by now, and says whether there were any: a drain then looks once more.';
revoke all on function reaper.return_ownerless_rows() from public;
grant execute on function reaper.return_ownerless_rows() to reaper_worker, reaper_ops;
