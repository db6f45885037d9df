-- claim_expired: mark the oldest due pastes for one worker, as one batch.
-- Safe with any number of callers: rows that other transactions hold are skipped, and the mark is set while the row lock is held.
-- The plan is pinned (index order, keyed access), so a claim costs the same whatever the size and statistics of the table.
create or replace function reaper.claim_expired(
    p_limit       integer     default 1000,
    p_worker      text        default session_user,
    p_after       timestamptz default '-infinity',
    p_after_code  text        default null
)
    returns table (batch_id uuid, claimed integer, last_expires_at timestamptz, last_short_code text)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
    set plan_cache_mode = force_custom_plan  -- only a known array is hashed: blocked rows are looked up, not walked
as $$
#variable_conflict use_column
declare
    v_now      timestamptz := reaper.clock();
    v_blocked  text[];
    v_codes    text[];
    v_places   tid[];
    v_marked   record;
    v_last     timestamptz;
begin
    perform reaper_internal.require_limit(p_limit);
    perform reaper_internal.require_worker(p_worker);
    -- The drop would be refused, and the rows would stay marked until the watchdog runs.
    perform reaper_internal.require_read_committed();

    loop
        v_blocked := array(select b.short_code from reaper.blocked b where b.next_attempt > v_now);
        select array_agg(due.short_code), array_agg(due.ctid), max(due.expires_at)
          into v_codes, v_places, v_last
          from (select p.short_code, p.ctid, p.expires_at
                  from public.pastes p
                 where p.expires_at <= v_now
                   and (p.expires_at, p.short_code) >= (coalesce(p_after, '-infinity'), coalesce(p_after_code, ''))
                   and (p_after_code is null or (p.expires_at, p.short_code) <> (p_after, p_after_code))
                   and p.deletion_status = 'NOT_EXPIRED'
                   and p.short_code <> all (v_blocked)
                 order by p.expires_at, p.short_code
                 limit p_limit
                   for update skip locked) as due;
        if v_codes is null then
            return;
        end if;
        v_marked := reaper_internal.mark_or_block(v_codes, v_places, v_now);
        exit when v_marked.codes <> '{}';
    end loop;

    return query
        insert into reaper.batches as b (batch_id, worker, short_codes, places, rows_claimed, claimed_at, held_since)
        values (gen_random_uuid(), p_worker, v_marked.codes, v_marked.places, cardinality(v_marked.codes), v_now, v_now)
        returning b.batch_id, b.rows_claimed, v_last, v_codes[cardinality(v_codes)];
end;
$$;
comment on function reaper.claim_expired(integer, text, timestamptz, text) is
    'Marks up to p_limit of the oldest due pastes DELETION_IN_PROGRESS and returns their batch; no row if nothing is due. '
    'Skips rows that other transactions hold and rows in reaper.blocked. p_after (inclusive) and p_after_code (exclusive) continue where the last claim ended. RP006 outside read committed.';
revoke all on function reaper.claim_expired(integer, text, timestamptz, text) from public;
grant execute on function reaper.claim_expired(integer, text, timestamptz, text) to reaper_worker, reaper_ops;
