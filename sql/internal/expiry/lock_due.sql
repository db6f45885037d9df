-- lock_due: lock the oldest due rows that no other transaction holds, in the order of their expiry.
-- A row that another claim marked while this one came to it stays locked although it is not returned. A caller that gets nothing and may
-- wait for another claim next rolls back to before this call, so that it keeps no row from being returned meanwhile.
-- An application's tombstones (DELETED) and rows without a status are due like the others; their status is returned, to be given back.
-- The plan is pinned (index order, keyed access), so it costs the same whatever the size and statistics of the table.
create or replace function reaper_internal.lock_due(
    in  p_limit         integer,
    in  p_after         timestamptz,
    in  p_after_code    text,
    in  p_now           timestamptz,
    out codes           text[],
    out places          tid[],
    out hashes          text[],
    out other_statuses  jsonb,
    out last_expires    timestamptz,
    out last_code       text
)
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
    set plan_cache_mode = force_custom_plan  -- only a known array is hashed: blocked rows are looked up, not walked
as $$
declare
    v_blocked text[] := array(select b.short_code from reaper.blocked b where b.next_attempt > p_now);
begin
    select array_agg(due.short_code), array_agg(due.place), array_agg(due.content_hash), max(due.expires_at),
           jsonb_object_agg(due.short_code, due.deletion_status) filter (where due.deletion_status is distinct from 'NOT_EXPIRED')
      into codes, places, hashes, last_expires, other_statuses
      from (select p.short_code, p.place, p.content_hash, p.expires_at, p.deletion_status
              from reaper.pastes p
             where p.expires_at <= p_now
               and (p.expires_at, p.short_code) >= (coalesce(p_after, '-infinity'), coalesce(p_after_code, ''))
               and (p_after_code is null or (p.expires_at, p.short_code) <> (p_after, p_after_code))
               and p.deletion_status is distinct from 'DELETION_IN_PROGRESS'
               and p.short_code <> all (v_blocked)
             order by p.expires_at, p.short_code
             limit p_limit
               for update skip locked) as due;
    last_code := codes[cardinality(codes)];
end;
$$;
comment on function reaper_internal.lock_due(integer, timestamptz, text, timestamptz) is
    'For mark_due and reap_due: locks up to p_limit due rows that are neither marked nor blocked and returns their codes, addresses, contents and unusual statuses; codes is null if there is none.';
revoke all on function reaper_internal.lock_due(integer, timestamptz, text, timestamptz) from public;
