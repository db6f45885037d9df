-- return_ownerless_rows: return rows that a drop left because another transaction held them.
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
    'Returns rows of ownerless claimed batches to NOT_EXPIRED that are no longer locked; true if there were any: a drain then tries once more.';
revoke all on function reaper.return_ownerless_rows() from public;
grant execute on function reaper.return_ownerless_rows() to reaper_worker, reaper_ops;
