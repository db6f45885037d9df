-- claim_expired: mark the oldest due pastes for one worker, as one batch.
-- Safe with any number of callers: rows that other transactions hold are skipped, and the mark is set while the row lock is held.
-- A claim from the start that finds nothing takes marked rows that no worker holds, so that a loop of claim, drop and finish, in any
-- language and in any number of sessions, ends with nothing due and nothing marked.
create or replace function reaper.claim_expired(
    p_limit       integer     default 1000,
    p_worker      text        default session_user,
    p_after       timestamptz default '-infinity',
    p_after_code  text        default null
)
    returns table (batch_id uuid, claimed integer, last_expires_at timestamptz, last_short_code text)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
    v_now     timestamptz := reaper.clock();
    v_due     record;
begin
    perform reaper_internal.require_limit(p_limit);
    perform reaper_internal.require_worker(p_worker);
    -- The drop would be refused, and the rows would stay marked until the watchdog runs.
    perform reaper_internal.require_read_committed();
    perform reaper_internal.require_binding('{pastes}');

    v_due := reaper_internal.mark_due(p_limit, p_after, p_after_code, v_now);
    if v_due.codes is null and coalesce(p_after, '-infinity') = '-infinity' and p_after_code is null then
        v_due := reaper_internal.claim_ownerless(p_limit, v_now);
        if v_due.codes is null and v_due.seen > 0 then
            -- The watchdog, or a claim with a smaller limit, may have returned them since the first look.
            v_due := reaper_internal.mark_due(p_limit, p_after, p_after_code, v_now);
        end if;
    end if;
    if v_due.codes is null then
        return;
    end if;

    return query
        insert into reaper.batches as b (batch_id, worker, short_codes, places, other_statuses, rows_claimed, claimed_at, held_since)
        values (gen_random_uuid(), p_worker, v_due.codes, v_due.places, v_due.other_statuses, cardinality(v_due.codes), v_now, v_now)
        returning b.batch_id, b.rows_claimed, v_due.last_expires, v_due.last_code;
end;
$$;
comment on function reaper.claim_expired(integer, text, timestamptz, text) is
    'Marks up to p_limit of the oldest due pastes DELETION_IN_PROGRESS and returns their batch; if there is none, takes rows that are marked already and that no worker holds. '
    'No row means that nothing is left but what other sessions hold. Skips rows that other transactions hold and rows in reaper.blocked. p_after (inclusive) and p_after_code (exclusive) continue '
    'where the last claim ended; no row then means only that nothing follows: end a loop with a claim from the start. RP006 outside read committed, RP010 if the binding does not hold.';
revoke all on function reaper.claim_expired(integer, text, timestamptz, text) from public;
grant execute on function reaper.claim_expired(integer, text, timestamptz, text) to reaper_worker, reaper_ops;
