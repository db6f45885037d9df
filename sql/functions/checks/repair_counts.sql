-- repair_counts: set wrong ref_counts to the number of paste rows, and record each change.
-- Wrong counts are found without locks; then their content rows are locked in hash order, FOR UPDATE, which waits for every paste that is
-- being inserted, and only a new statement after that counts. Deletes nothing.
create or replace function reaper.repair_counts(p_limit integer default 1000)
    returns table (content_hash text, was bigint, now bigint)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
    v_now     timestamptz := reaper.clock();
    v_hashes  text[];
begin
    perform reaper_internal.require_read_committed();
    perform reaper_internal.require_limit(p_limit);

    v_hashes := array(select c.content_hash
                        from reaper.content c
                        left join (select p.content_hash, count(*) as refs from reaper.pastes p group by p.content_hash) as n
                          on n.content_hash = c.content_hash
                       where c.ref_count is distinct from coalesce(n.refs, 0)
                       order by c.content_hash
                       limit p_limit);
    perform from reaper.content c where c.content_hash = any (v_hashes) order by c.content_hash for update;

    return query
        with counted as (
            select c.content_hash, c.ref_count::bigint as was,
                   (select count(*) from reaper.pastes p where p.content_hash = c.content_hash) as refs
              from reaper.content c
             where c.content_hash = any (v_hashes)
        ), repaired as (
            update reaper.content c
               set ref_count = n.refs
              from counted n
             where c.content_hash = n.content_hash and n.was is distinct from n.refs
            returning c.content_hash, n.was, n.refs
        ), noted as (
            insert into reaper.drift (content_hash, expected, found, action, noticed_at)
            select r.content_hash, coalesce(r.was, 0), r.refs, case when r.refs > coalesce(r.was, 0) then 'raised' else 'lowered' end, v_now
              from repaired r
        )
        select r.content_hash::text, r.was, r.refs from repaired r order by r.content_hash;
end;
$$;
comment on function reaper.repair_counts(integer) is
    'Sets up to p_limit wrong ref_counts to the number of paste rows and returns them; call it until it returns no row. Recorded in reaper.drift; '
    'deletes nothing. Stop writers that change ref_count in another transaction than the paste row meanwhile. RP006 outside read committed.';
revoke all on function reaper.repair_counts(integer) from public;
grant execute on function reaper.repair_counts(integer) to reaper_worker, reaper_ops;
