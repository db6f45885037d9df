-- excess_copies: of each content the one copy that may go first: a bad one, else one on a backend that is drained, else one on the fullest
-- backend, the later name first; and the copies that are to stay. Those are good, on backends that answer and are not drained, enough of them, and
-- one of them was verified. Where that is not so, nothing may go; nor does a good
-- copy because its backend does not answer: an open circuit alone is no reason to remove it.
create or replace function reaper_internal.excess_copies(p_hashes text[], p_now timestamptz)
    returns table (
        content_hash text, keep_backends text[], keep_keys text[], keep_sizes bigint[], remove_backend text, remove_key text
    )
    language sql stable
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    with health as materialized (
        select h.*, t.taken, t.taken / nullif(h.quota, 0) as fullness
          from reaper_internal.backend_health(p_now) as h
         cross join lateral (
            select coalesce(sum(d.used_bytes + d.orphan_bytes + d.reserved_bytes), 0) as taken
              from reaper.byte_deltas d where d.backend = h.backend) as t
    ), fixed as materialized (
        select reaper_internal.own_key_stays() as stays, s.replication_factor as factor from reaper.settings s
    ), copies as materialized (
        select l.content_hash, l.backend, l.object_key, l.size_bytes, l.trouble is not null as is_bad, h.state = 'draining' as is_drained,
               coalesce(h.fullness, 0) as fullness, h.taken, h.is_closed, l.verified_at is not null as is_verified,
               l.trouble is null and h.state <> 'draining' and h.is_closed and not h.is_dead as is_kept,
               f.stays and l.backend = 'default' and l.object_key = coalesce(c.object_key, c.content_hash)::text collate "C" as stays
          from unnest(p_hashes) as x (content_hash)
          join reaper.content c on c.content_hash = x.content_hash
          join reaper.object_locations l on l.content_hash = x.content_hash
          join health h on h.backend = l.backend
         cross join fixed f
    )
    select distinct on (r.content_hash)
           r.content_hash, k.backends, k.keys, k.sizes, r.backend, r.object_key
      from copies r
     cross join fixed f
     cross join lateral (
        select array_agg(o.backend order by o.backend) as backends, array_agg(o.object_key order by o.backend) as keys,
               array_agg(o.size_bytes order by o.backend) as sizes, count(*) as kept, bool_or(o.is_verified) as is_safe
          from copies o
         where o.content_hash = r.content_hash and o.backend <> r.backend and o.is_kept) as k
     where not r.stays and (r.is_closed or r.is_bad or r.is_drained) and k.kept >= f.factor and k.is_safe
     order by r.content_hash, r.is_bad desc, r.is_drained desc, r.fullness desc, r.taken desc, r.backend desc;
$$;
comment on function reaper_internal.excess_copies(text[], timestamptz) is
    'For claim_excess: of each content the copy that may go first, and the copies that are to stay.';
revoke all on function reaper_internal.excess_copies(text[], timestamptz) from public;
