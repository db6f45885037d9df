-- leased_copies: the copies of a lease as their maker needs to know them. What replaces a copy is verified in any case.
create or replace function reaper_internal.leased_copies(p_lease uuid, p_now timestamptz)
    returns table (
        intent_id uuid, lease uuid, content_hash text, size_bytes bigint, sha256 boolean, purpose text,
        sources text[], source_keys text[], destination text, object_key text, verify boolean
    )
    language sql stable
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    select i.intent_id, i.lease, i.content_hash, i.size_bytes, reaper_internal.is_digest(i.content_hash), i.purpose,
           t.sources, t.source_keys, i.destination, i.object_key, s.verify_copies or i.purpose <> 'replicate'
      from reaper.copy_intents i
     cross join reaper.settings s
      join reaper_internal.copy_tasks(array(select n.content_hash from reaper.copy_intents n where n.lease = p_lease), p_now) as t
        on t.content_hash = i.content_hash
     where i.lease = p_lease
     order by t.good, i.content_hash;
$$;
comment on function reaper_internal.leased_copies(uuid, timestamptz) is
    'For claim_copies and claim_moves: what they return.';
revoke all on function reaper_internal.leased_copies(uuid, timestamptz) from public;
