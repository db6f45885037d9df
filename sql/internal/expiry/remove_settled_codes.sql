-- remove_settled_codes: leave in batches that the caller has locked only codes whose rows are still marked and not claimed by another batch;
-- a batch without codes is deleted. Rows that are gone or unmarked would be counted as left for ever.
create or replace function reaper_internal.remove_settled_codes(p_batches uuid[], p_codes text[], p_claimed text[])
    returns void
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
    set plan_cache_mode = force_custom_plan  -- only a known array is hashed
as $$
declare
    v_left text[] := array(select p.short_code
                             from reaper.pastes p
                            where p.short_code = any (p_codes)
                              and p.deletion_status = 'DELETION_IN_PROGRESS'
                              and p.short_code <> all (p_claimed));
begin
    update reaper.batches b
       set short_codes    = l.codes,
           places         = null,
           other_statuses = reaper_internal.statuses_of(b.other_statuses, l.codes)
      from (select o.batch_id, coalesce(array_agg(c.code) filter (where c.code = any (v_left)), '{}') as codes
              from reaper.batches o
             cross join unnest(o.short_codes) as c (code)
             where o.batch_id = any (p_batches)
             group by o.batch_id) as l
     where b.batch_id = l.batch_id and cardinality(l.codes) < cardinality(b.short_codes);
    delete from reaper.batches b where b.batch_id = any (p_batches) and b.short_codes = '{}';
end;
$$;
comment on function reaper_internal.remove_settled_codes(uuid[], text[], text[]) is
    'For claim_from_batches: removes codes from batches whose rows are no longer marked, or in p_claimed, and deletes batches that have none left.';
revoke all on function reaper_internal.remove_settled_codes(uuid[], text[], text[]) from public;
