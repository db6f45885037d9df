-- claim_moves: hand out moves of the rebalancer's plan, as claim_copies does copies. The plan is made once, of up to 10,000 moves, and worked off; when
-- none is left, or it is an hour old, it is made anew. A move whose source or destination is no longer as planned is forgotten.
create or replace function reaper.claim_moves(p_limit integer default 100)
    returns table (
        intent_id uuid, lease uuid, content_hash text, size_bytes bigint, sha256 boolean, purpose text,
        sources text[], source_keys text[], destination text, object_key text, verify boolean
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
    v_now      timestamptz := reaper.clock();
    v_lease    uuid        := gen_random_uuid();
    v_planned  boolean;
begin
    perform reaper_internal.require_read_committed();
    perform reaper_internal.require_limit(p_limit);
    lock table reaper.bindings in access share mode;
    perform reaper_internal.commit_durably();
    -- In a statement of its own: the next one sees what it planned.
    v_planned := reaper_internal.record_plan(v_now);
    if v_planned and exists (select from reaper.copy_moves) and not reaper_internal.most_backends_fail() then
        perform reaper_internal.begin_moves(p_limit, v_lease, v_now);
    end if;
    return query select * from reaper_internal.leased_copies(v_lease, v_now);
end;
$$;
comment on function reaper.claim_moves(integer) is
    'Makes intents for up to p_limit moves that the rebalancer has planned, and leases them as claim_copies does; call commit_copies or fail_copies. No row if nothing is to be moved, or while another session plans. RP006 outside read committed.';
revoke all on function reaper.claim_moves(integer) from public;
grant execute on function reaper.claim_moves(integer) to reaper_worker, reaper_ops;
