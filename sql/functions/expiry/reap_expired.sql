-- reap_expired: direct release: claim the oldest due pastes and release them in one transaction, as one RELEASED batch.
-- Safe with any number of callers, and beside claims that mark: rows are locked, never marked, so a crash leaves nothing to give back.
-- Locks: no paste is held during any wait, so a writer that takes content, then paste, never meets this in a deadlock.
create or replace function reaper.reap_expired(
    p_limit       integer     default 1000,
    p_worker      text        default session_user,
    p_after       timestamptz default '-infinity',
    p_after_code  text        default null
)
    returns table (batch_id uuid, released integer, last_expires_at timestamptz, last_short_code text)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
    v_reaped record;
begin
    perform reaper_internal.require_worker(p_worker);
    v_reaped := reaper_internal.reap(p_limit, p_worker, p_after, p_after_code);
    if (v_reaped.batch).batch_id is not null then
        return query
            select (v_reaped.batch).batch_id, cardinality((v_reaped.batch).short_codes), v_reaped.last_expires, v_reaped.last_code;
    end if;
end;
$$;
comment on function reaper.reap_expired(integer, text, timestamptz, text) is
    'Deletes up to p_limit of the oldest due pastes, subtracts their references, deletes the content rows that reach zero, and returns their RELEASED batch: commit, delete the objects and cache entries that it lists, '
    'then call finish_batch; one call per transaction. No row means that nothing is due but blocked rows, and marked ones that other sessions hold; unmarked rows that other sessions hold on to raise 55P03. p_after (inclusive) and p_after_code (exclusive) continue where the last '
    'call ended; no row then means only that nothing follows: end a loop with a call from the start. RP006 outside read committed, RP010 if the binding does not hold.';
revoke all on function reaper.reap_expired(integer, text, timestamptz, text) from public;
grant execute on function reaper.reap_expired(integer, text, timestamptz, text) to reaper_worker, reaper_ops;
