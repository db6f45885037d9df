-- commit_copies: the bytes are stored, the copies become copies. Decided under the content rows' locks: where a content is gone, or needs no copy
-- there any more, the new object is queued for deletion; else location, byte accounts, and for a move or repair the end of the copy that it
-- replaces are one transaction. A lost lease, or wrong bytes, undo no other copy of the call.
-- Order of locks: intents, then contents, both in hash order, then wants; no backend is locked, for its room was reserved by the claim.
create or replace function reaper.commit_copies(
    p_lease     uuid,
    p_intents   uuid[],
    p_sources   text[],
    p_sizes     bigint[],
    p_sha256s   text[],
    p_verified  boolean[]
)
    returns table (intent_id uuid, outcome text)
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
    v_judged   record;
    v_ended    record;
    v_stored   record;
begin
    perform reaper_internal.require_read_committed();
    perform reaper_internal.require_limit(cardinality(p_intents));
    lock table reaper.bindings in access share mode;
    perform reaper_internal.commit_durably();
    perform reaper_internal.lock_copied_contents(p_lease, p_intents);

    select coalesce(array_agg(j.intent_id) filter (where j.outcome = 'needed'), '{}') as intents,
           array_agg(j.source) filter (where j.outcome = 'needed') as sources,
           array_agg(j.size_bytes) filter (where j.outcome = 'needed') as sizes,
           array_agg(j.is_digest) filter (where j.outcome = 'needed') as digests,
           array_agg(j.is_verified) filter (where j.outcome = 'needed') as verified,
           array_agg(j.is_implicit) filter (where j.outcome = 'needed') as implicit,
           coalesce(array_agg(j.intent_id) filter (where j.outcome <> 'needed'), '{}') as others,
           array_agg(j.outcome) filter (where j.outcome <> 'needed') as outcomes,
           array_agg(coalesce(j.size_bytes, 0)) filter (where j.outcome <> 'needed') as other_sizes,
           array_agg(j.content_hash) filter (where j.outcome = 'wrong_bytes') as wrong,
           coalesce(array_agg(j.content_hash order by j.content_hash collate "C"), '{}') as hashes
      into v_judged
      from reaper_internal.judge_copies(p_lease, p_intents, p_sources, p_sizes, p_sha256s, p_verified, v_now) as j;
    perform nextval('reaper.refusals') from generate_series(1, cardinality(p_intents) - cardinality(v_judged.hashes));

    for v_ended in
        select i, n.outcome, n.size_bytes
          from unnest(v_judged.others, v_judged.outcomes, v_judged.other_sizes) as n (intent_id, outcome, size_bytes)
          join reaper.copy_intents i on i.intent_id = n.intent_id
         order by i.content_hash
    loop
        perform reaper_internal.drop_copy_intent(v_ended.i, true, v_ended.size_bytes, v_now, v_now);
    end loop;
    if v_judged.intents <> '{}' then
        select array_agg(s.intent_id) as intents, array_agg(s.outcome) as outcomes
          into v_stored
          from reaper_internal.finish_copies(v_judged.intents, v_judged.sources, v_judged.sizes, v_judged.digests, v_judged.verified,
                                            v_judged.implicit, v_now) as s;
        v_judged.others := v_judged.others || v_stored.intents;
        v_judged.outcomes := v_judged.outcomes || v_stored.outcomes;
    end if;
    perform reaper_internal.sync_needs(v_judged.hashes, v_now);
    if 'wrong_bytes' = any (v_judged.outcomes) then
        update reaper.copy_wants w
           set attempts = w.attempts + 1, next_attempt = v_now + interval '10 minutes', last_error = 'the stored bytes are not the content''s, or were not verified'
         where w.content_hash = any (v_judged.wrong);
    end if;
    return query
        select g.intent_id, coalesce(n.outcome, 'lease_lost')
          from unnest(p_intents) as g (intent_id)
          left join unnest(v_judged.others, v_judged.outcomes) as n (intent_id, outcome) on n.intent_id = g.intent_id;
end;
$$;
comment on function reaper.commit_copies(uuid, uuid[], text[], bigint[], text[], boolean[]) is
    'Makes the stored objects of intents copies of their contents; one row per intent: copied, moved or repaired; content_gone, not_needed or wrong_bytes if its object is queued for deletion instead; lease_lost if nothing was changed (delete nothing). '
    'p_sources: the backends that were read; p_sizes, p_sha256s (null = not computed): of the stored bytes; p_verified: whether the stored object was compared, which moves and repairs must be. RP006 outside read committed.';
revoke all on function reaper.commit_copies(uuid, uuid[], text[], bigint[], text[], boolean[]) from public;
grant execute on function reaper.commit_copies(uuid, uuid[], text[], bigint[], text[], boolean[]) to reaper_worker, reaper_ops;
