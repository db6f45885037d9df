-- judge_copies: are these copies still needed? The caller has locked their contents, which every function that adds, judges or removes a copy
-- does, and every release; this is a new statement after the locks.
-- Not needed is a copy whose destination has a good one by now or is being drained, or which was made from bytes that were found to be bad
-- meanwhile, without a digest that says otherwise. Where no good copy is left, this one is needed whatever was its purpose. A move of the rebalancer adds nothing that is missing: the source must be as it was.
create or replace function reaper_internal.judge_copies(
    p_lease     uuid,
    p_intents   uuid[],
    p_sources   text[],
    p_sizes     bigint[],
    p_sha256s   text[],
    p_verified  boolean[],
    p_now       timestamptz
)
    returns table (intent_id uuid, content_hash text, outcome text, source text, size_bytes bigint, is_digest boolean, is_verified boolean, is_implicit boolean)
    language sql stable
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    with held as materialized (
        select i.*, g.source as read_from, g.size_bytes as stored_bytes, g.sha256, coalesce(g.is_verified, false) as is_verified,
               reaper_internal.is_digest(i.content_hash) as has_digest
          from unnest(p_intents, p_sources, p_sizes, p_sha256s, p_verified) as g (intent_id, source, size_bytes, sha256, is_verified)
          join reaper.copy_intents i on i.intent_id = g.intent_id and i.lease = p_lease
    ), needs as materialized (
        select * from reaper_internal.copy_needs(array(select h.content_hash from held h), p_now)
    )
    select h.intent_id, h.content_hash,
           case when c.content_hash is null then 'content_gone'
                when h.stored_bytes is null or h.stored_bytes < 0 or h.stored_bytes <> h.size_bytes
                     or (h.has_digest and lower(h.sha256) <> lower(h.content_hash))
                     or (h.purpose <> 'replicate' and not h.is_verified) then 'wrong_bytes'
                when b.name is null or d.content_hash is not null and (d.trouble is null or h.purpose = 'replicate')
                     or (f.trouble = 'corrupt' and not (h.has_digest and h.sha256 is not null)) then 'not_needed'
                when n.is_wanted or n.good = 0 then 'needed'
                when h.purpose = 'move' and not n.is_excess
                     and (case when o.any_row then r.content_hash is not null and r.trouble is null else h.replaces_backend = 'default' end) then 'needed'
                else 'not_needed' end,
           h.read_from, h.stored_bytes, h.has_digest and h.sha256 is not null, h.is_verified, not o.any_row
      from held h
      left join needs n on n.content_hash = h.content_hash
     -- As a column of default collation: then the content's own, whatever it is, decides, and its index serves.
     cross join lateral (select h.content_hash collate "default") as own (hash)
      left join lateral (select k.content_hash from reaper.content k where k.content_hash = own.hash) as c on true
      left join reaper.backend_list b on b.name = h.destination and b.state <> 'draining'
      left join reaper.object_locations d on d.content_hash = h.content_hash and d.backend = h.destination
      left join reaper.object_locations f on f.content_hash = h.content_hash and f.backend = h.read_from
      left join reaper.object_locations r on r.content_hash = h.content_hash and r.backend = h.replaces_backend and r.object_key = h.replaces_key
     cross join lateral (select exists (select from reaper.object_locations l where l.content_hash = h.content_hash) as any_row) as o;
$$;
comment on function reaper_internal.judge_copies(uuid, uuid[], text[], bigint[], text[], boolean[], timestamptz) is
    'For commit_copies, whose locks on the contents it needs: needed, not_needed, content_gone or wrong_bytes for each intent that the lease holds.';
revoke all on function reaper_internal.judge_copies(uuid, uuid[], text[], bigint[], text[], boolean[], timestamptz) from public;
