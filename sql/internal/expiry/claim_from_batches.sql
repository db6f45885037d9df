-- claim_from_batches: take marked rows that are due, not blocked and not held out of ownerless batches that the caller has locked.
-- They stay marked: unmarking and marking a row in one transaction makes PostgreSQL check its foreign key again, which waits for content
-- that a drop holds. Rows that are blocked or not due are returned; those that a transaction holds stay, so that a loop of claims ends.
create or replace function reaper_internal.claim_from_batches(
    in  p_batches       uuid[],
    in  p_limit         integer,
    in  p_now           timestamptz,
    out codes           text[],
    out places          tid[],
    out other_statuses  jsonb,
    out last_expires    timestamptz,
    out last_code       text
)
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
    set plan_cache_mode = force_custom_plan  -- only a known array is hashed
as $$
declare
    v_marked    text[] := array(select unnest(b.short_codes) from reaper.batches b where b.batch_id = any (p_batches));
    v_blocked   text[] := array(select b.short_code from reaper.blocked b where b.next_attempt > p_now);
    v_statuses  jsonb := (select jsonb_object_agg(s.code, s.status)
                            from reaper.batches b
                           cross join jsonb_each(b.other_statuses) as s (code, status)
                           where b.batch_id = any (p_batches));
begin
    select array_agg(f.short_code order by f.place), array_agg(f.place order by f.place),
           max(f.expires_at), (array_agg(f.short_code order by f.expires_at desc, f.short_code desc))[1]
      into codes, places, last_expires, last_code
      from (select p.short_code, p.place, p.expires_at
              from reaper.pastes p
             where p.short_code = any (v_marked)
               and p.deletion_status = 'DELETION_IN_PROGRESS'
               and p.expires_at <= p_now
               and p.short_code <> all (v_blocked)
             limit p_limit
               for update skip locked) as f;
    other_statuses := reaper_internal.statuses_of(v_statuses, codes);
    perform reaper_internal.return_rows(
        array(select p.short_code
                from reaper.pastes p
               where p.short_code = any (v_marked)
                 and (p.expires_at is null or p.expires_at > p_now or p.short_code = any (v_blocked))),
        v_statuses);
    perform reaper_internal.remove_settled_codes(p_batches, v_marked, coalesce(codes, '{}'));
end;
$$;
comment on function reaper_internal.claim_from_batches(uuid[], integer, timestamptz) is
    'For claim_ownerless: takes up to p_limit marked rows out of batches, returns those that are blocked or not due, and removes codes whose rows are no longer marked; codes is null if none was taken.';
revoke all on function reaper_internal.claim_from_batches(uuid[], integer, timestamptz) from public;
