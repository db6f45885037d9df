-- claim_cleanup: lease owed objects that are due for another try. A leased row comes due again after five minutes: whoever
-- died with it needs no watchdog, and the token keeps a late one from settling what is no longer its own.
create or replace function reaper.claim_cleanup(p_limit integer default 1000)
    returns table (lease uuid, content_hash text, backend text, object_key text, size_bytes bigint)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
#variable_conflict use_column
declare
    v_now    timestamptz := reaper.clock();
    v_lease  uuid        := gen_random_uuid();
begin
    perform reaper.require_limit(p_limit);
    return query
        with due as materialized (
            select q.queue_id
              from reaper.cleanup_queue q
             where q.next_attempt <= v_now
             order by q.next_attempt
             limit p_limit
               for update skip locked
        )
        update reaper.cleanup_queue q
           set lease = v_lease, next_attempt = v_now + interval '5 minutes'
          from due d
         where q.queue_id = d.queue_id
        returning q.lease, q.content_hash, q.backend, q.object_key, q.size_bytes;
end;
$$;
comment on function reaper.claim_cleanup(integer) is
    'Leases up to p_limit objects whose deletion failed before and is due for another try; all share one lease. Delete, then call finish_cleanup.';
revoke all on function reaper.claim_cleanup(integer) from public;
grant execute on function reaper.claim_cleanup(integer) to reaper_worker, reaper_ops;
