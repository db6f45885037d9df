-- record_listed: record what the comparison of one window of a bucket with the database found, and move the position behind it. One commit per
-- window, fenced by the pass and its position, so a pass that died anywhere is continued where it was.
-- Nothing is decided here: missing objects become suspects, unknown ones sightings. If too many are missing, the pass stops and forgets them.
create or replace function reaper.record_listed(
    p_backend         text,
    p_pass            uuid,
    p_after           text,
    p_next            text,
    p_listed          bigint,
    p_expected        bigint,
    p_missing_keys    text[],
    p_missing_hashes  text[],
    p_unknown_keys    text[],
    p_unknown_sizes   bigint[]
)
    returns text
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_now     timestamptz := reaper.clock();
    v_pass    reaper.reconciliations := reaper_internal.lock_pass(p_backend, p_pass, 'listing', p_after);
    v_reason  text;
begin
    v_pass.listed := v_pass.listed + p_listed;
    v_pass.expected := v_pass.expected + p_expected;
    v_pass.missing := v_pass.missing + cardinality(p_missing_keys);
    v_pass.unknown := v_pass.unknown + cardinality(p_unknown_keys);
    v_reason := reaper_internal.missing_brake_reason(v_pass, p_next is null);
    if v_reason is not null then
        delete from reaper.suspects s where s.backend = p_backend and s.pass = p_pass;
        update reaper.reconciliations r
           set phase = 'braked', brake_reason = v_reason, listed = v_pass.listed, expected = v_pass.expected, missing = v_pass.missing, unknown = v_pass.unknown
         where r.backend = p_backend;
        perform reaper_internal.emit_reconciled(v_pass, '{}', s.missing_brake) from reaper.settings s;
        return 'braked';
    end if;

    insert into reaper.suspects as s (backend, object_key, content_hash, first_seen, next_attempt, pass)
    select p_backend, m.object_key, m.content_hash, v_now, v_now, p_pass
      from unnest(p_missing_keys, p_missing_hashes) as m (object_key, content_hash)
     order by m.object_key collate "C"
        -- Also what the scrubber suspects and would look for later: the end of the pass is the second look.
        on conflict (backend, object_key) do update
       set pass = excluded.pass, content_hash = excluded.content_hash, next_attempt = excluded.next_attempt;

    delete from reaper.sightings s
     where s.backend = p_backend and s.object_key > p_after and (p_next is null or s.object_key <= p_next)
       and s.object_key <> all (p_unknown_keys) and s.retired_at is null;
    insert into reaper.sightings as s (backend, object_key, size_bytes, first_seen, last_seen)
    select p_backend, u.object_key, u.size_bytes, v_now, v_now
      from unnest(p_unknown_keys, p_unknown_sizes) as u (object_key, size_bytes)
     order by u.object_key collate "C"
        on conflict (backend, object_key) do update
       set last_seen  = excluded.last_seen,
           -- Of another size it is another object.
           first_seen = case when s.size_bytes = excluded.size_bytes then s.first_seen else excluded.first_seen end,
           size_bytes = excluded.size_bytes;

    update reaper.reconciliations r
       set after_key = coalesce(p_next, ''), phase = case when p_next is null then 'settling' else 'listing' end,
           listed = v_pass.listed, expected = v_pass.expected, missing = v_pass.missing, unknown = v_pass.unknown
     where r.backend = p_backend;
    return case when p_next is null then 'settling' else 'listing' end;
end;
$$;
comment on function reaper.record_listed(text, uuid, text, text, bigint, bigint, text[], text[], text[], bigint[]) is
    'Records a window of a backend''s listing, from p_after (exclusive) to p_next (null = to the end): numbers of objects listed and expected, expected objects that are missing, objects that no row names. '
    'Returns listing, settling (the listing has ended) or braked (too many are missing: the pass is stopped and nothing of it is kept). RP001 if the pass has gone on without the caller.';
revoke all on function reaper.record_listed(text, uuid, text, text, bigint, bigint, text[], text[], text[], bigint[]) from public;
grant execute on function reaper.record_listed(text, uuid, text, text, bigint, bigint, text[], text[], text[], bigint[]) to reaper_worker, reaper_ops;
