-- claim_invalidations: lease cache entries that are queued for deletion and due, as claim_cleanup does with objects.
create or replace function reaper.claim_invalidations(p_limit integer default 1000)
    returns table (lease uuid, short_code text)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
#variable_conflict use_column
declare
    v_now    timestamptz := reaper.clock();
    v_lease  uuid        := gen_random_uuid();
begin
    perform reaper_internal.require_limit(p_limit);
    return query
        with due as materialized (
            select i.short_code
              from reaper.invalidations i
             where i.next_attempt <= v_now
             order by i.next_attempt
             limit p_limit
               for update skip locked
        )
        update reaper.invalidations i
           set lease = v_lease, next_attempt = v_now + interval '5 minutes'
          from due d
         where i.short_code = d.short_code
        returning i.lease, i.short_code;
end;
$$;
comment on function reaper.claim_invalidations(integer) is
    'Leases up to p_limit codes whose cache entry is queued for deletion and due; all share one lease. Delete the entries, then call finish_invalidations.';
revoke all on function reaper.claim_invalidations(integer) from public;
grant execute on function reaper.claim_invalidations(integer) to reaper_worker, reaper_ops;
