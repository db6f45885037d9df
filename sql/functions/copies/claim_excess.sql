-- claim_excess: contents with a copy too many, and which one: to be removed with remove_copy when the others have been looked for. Judged anew from
-- the rows; what has none too many is deleted from the list, and what cannot lose one now comes again in five minutes, so that no one blocks it.
-- A worker that dies needs no watchdog: its contents are due again then too.
create or replace function reaper.claim_excess(p_limit integer default 100)
    returns table (
        content_hash text, keep_backends text[], keep_keys text[], keep_sizes bigint[], remove_backend text, remove_key text
    )
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
#variable_conflict use_column
declare
    v_now     timestamptz := reaper.clock();
    v_hashes  text[];
    v_excess  text[];
    v_found   text[];
    v_looked  integer := 0;
begin
    perform reaper_internal.require_limit(p_limit);
    if not exists (select from reaper.copy_excess) then
        return;
    end if;
    lock table reaper.bindings in access share mode;
    -- Contents that cannot lose a copy now must not hide those that can.
    while v_looked < 10 * p_limit loop
        v_hashes := array(select e.content_hash
                            from reaper.copy_excess e
                           where e.next_attempt <= v_now
                           order by e.next_attempt
                           limit p_limit
                             for update skip locked);
        exit when v_hashes = '{}';
        v_looked := v_looked + cardinality(v_hashes);
        v_excess := array(select n.content_hash
                            from reaper_internal.copy_needs(array(select c.content_hash from reaper.content c where c.content_hash = any (v_hashes)), v_now) as n
                           where n.is_excess);
        delete from reaper.copy_excess e where e.content_hash = any (v_hashes) and e.content_hash <> all (v_excess);
        return query select * from reaper_internal.excess_copies(v_excess, v_now);
        v_found := array(select x.content_hash from reaper_internal.excess_copies(v_excess, v_now) as x);
        update reaper.copy_excess e
           set next_attempt = v_now + interval '5 minutes', attempts = e.attempts + 1,
               last_error = case when e.content_hash = any (v_found) then e.last_error
                                 else 'too few verified copies are on backends that answer, or the copy must stay for readers that know its key' end
         where e.content_hash = any (v_excess);
        exit when v_found <> '{}';
    end loop;
end;
$$;
comment on function reaper.claim_excess(integer) is
    'Up to p_limit contents with a copy too many: the copy to remove and the copies that are to stay. Look for the latter (HEAD), then call remove_copy with those that were found. What is not removed comes again after five minutes.';
revoke all on function reaper.claim_excess(integer) from public;
grant execute on function reaper.claim_excess(integer) to reaper_worker, reaper_ops;
