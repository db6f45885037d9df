-- fold_accounts: replace many rows of the byte accounts by their sums. One statement, so that no snapshot counts bytes twice or
-- misses them; rows that another transaction is folding are skipped, and writers, who only insert, never wait for it.
create or replace function reaper.fold_accounts(p_limit integer default 10000, p_backend text default null)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_folded integer;
begin
    perform reaper_internal.require_limit(p_limit);
    with picked as materialized (
        select d.delta_id, d.backend
          from reaper.byte_deltas d
         where p_backend is null or d.backend = p_backend
         order by d.delta_id
         limit p_limit
           for update skip locked
    ), gone as (
        delete from reaper.byte_deltas d
         where d.delta_id = any (array(
            select p.delta_id from picked p
             where p.backend in (select m.backend from picked m group by m.backend having count(*) > 1)))
        returning d.backend, d.used_bytes, d.orphan_bytes, d.reserved_bytes
    ), folded as (
        insert into reaper.byte_deltas (backend, used_bytes, orphan_bytes, reserved_bytes)
        select g.backend, sum(g.used_bytes), sum(g.orphan_bytes), sum(g.reserved_bytes) from gone g group by g.backend
    )
    select count(*) into v_folded from gone g;
    return v_folded;
end;
$$;
comment on function reaper.fold_accounts(integer, text) is
    'Replaces up to p_limit of the oldest rows of the byte accounts, of all backends or of one, by one row per backend; returns how many it replaced.';
revoke all on function reaper.fold_accounts(integer, text) from public;
grant execute on function reaper.fold_accounts(integer, text) to reaper_worker, reaper_ops;
