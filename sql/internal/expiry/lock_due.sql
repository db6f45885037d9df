-- lock_due: lock the oldest due rows that no other transaction holds, in the order of their expiry.
-- A row that another claim marked while this one came to it stays locked although it is not returned. If nothing is found, the lock is
-- rolled back at once: the claim may wait for another one next, and must keep no row from being returned meanwhile.
-- An application's tombstones (DELETED) and rows without a status are due like the others; their status is returned, to be given back.
-- The plan is pinned (index order, keyed access), so it costs the same whatever the size and statistics of the table.
create or replace function reaper_internal.lock_due(
    in  p_limit         integer,
    in  p_after         timestamptz,
    in  p_after_code    text,
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
    set plan_cache_mode = force_custom_plan  -- only a known array is hashed: blocked rows are looked up, not walked
as $$
declare
    v_blocked text[] := array(select b.short_code from reaper.blocked b where b.next_attempt > p_now);
begin
    select array_agg(due.short_code), array_agg(due.place), max(due.expires_at),
           jsonb_object_agg(due.short_code, due.deletion_status) filter (where due.deletion_status is distinct from 'NOT_EXPIRED')
      into codes, places, last_expires, other_statuses
      from (select p.short_code, p.place, p.expires_at, p.deletion_status
              from reaper.pastes p
             where p.expires_at <= p_now
               and (p.expires_at, p.short_code) >= (coalesce(p_after, '-infinity'), coalesce(p_after_code, ''))
               and (p_after_code is null or (p.expires_at, p.short_code) <> (p_after, p_after_code))
               and p.deletion_status is distinct from 'DELETION_IN_PROGRESS'
               and p.short_code <> all (v_blocked)
             order by p.expires_at, p.short_code
             limit p_limit
               for update skip locked) as due;
    if codes is null then
        raise no_data_found;
    end if;
    last_code := codes[cardinality(codes)];
exception when no_data_found then
    codes := null;
end;
$$;
comment on function reaper_internal.lock_due(integer, timestamptz, text, timestamptz) is
    'For claim_expired: locks up to p_limit due rows that are neither marked nor blocked and returns their codes, addresses and unusual statuses; null if there is none, and then no row stays locked.';
revoke all on function reaper_internal.lock_due(integer, timestamptz, text, timestamptz) from public;
