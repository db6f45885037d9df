-- copy_tasks: what is known of each content that is to be copied: its good copies in the order in which to read them (backends that have used up
-- a monthly limit last: without another copy they are read all the same), all places where a new
-- one cannot go, and the copy that a new one replaces: a bad one, else one on a backend that is drained.
create or replace function reaper_internal.copy_tasks(p_hashes text[], p_now timestamptz)
    returns table (
        content_hash text, good integer, size_bytes bigint, sources text[], source_keys text[], taken text[],
        bad_backends text[], bad_keys text[], drained_backends text[], drained_keys text[]
    )
    language sql stable
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    with health as materialized (
        select h.*, reaper_internal.is_used_up(h.backend, 'monthly_egress') as is_used_up from reaper_internal.backend_health(p_now) as h
    ), fixed as materialized (
        select reaper_internal.own_key_stays() as stays
    ), copies as (
        select c.content_hash::text collate "C" as content_hash, coalesce(l.backend, 'default') as backend,
               coalesce(l.object_key, c.object_key, c.content_hash)::text as object_key,
               coalesce(l.size_bytes, nullif(c.size_bytes, 0)) as size_bytes,
               l.trouble, l.verified_at,
               f.stays and coalesce(l.backend, 'default') = 'default' and coalesce(l.object_key = coalesce(c.object_key, c.content_hash)::text collate "C", true) as stays
          from unnest(p_hashes) as x (content_hash)
         -- As a column of default collation: then the content's own, whatever it is, decides, and its index serves.
         cross join lateral (select x.content_hash collate "default") as own (hash)
          join reaper.content c on c.content_hash = own.hash
         cross join fixed f
          left join reaper.object_locations l on l.content_hash = x.content_hash
    )
    select k.content_hash,
           count(*) filter (where k.trouble is null and not h.is_dead)::integer,
           max(k.size_bytes) filter (where k.trouble is null),
           coalesce(array_agg(k.backend order by h.is_used_up, k.verified_at is null, h.state = 'draining', k.backend) filter (where k.trouble is null and h.is_closed), '{}'),
           coalesce(array_agg(k.object_key order by h.is_used_up, k.verified_at is null, h.state = 'draining', k.backend) filter (where k.trouble is null and h.is_closed), '{}'),
           -- Where a good copy is, or a bad one that must stay, no other can be.
           coalesce(array_agg(k.backend) filter (where k.trouble is null or k.stays), '{}'),
           coalesce(array_agg(k.backend order by k.backend) filter (where k.trouble is not null and not k.stays), '{}'),
           coalesce(array_agg(k.object_key order by k.backend) filter (where k.trouble is not null and not k.stays), '{}'),
           coalesce(array_agg(k.backend order by k.backend) filter (where k.trouble is null and not k.stays and h.state = 'draining'), '{}'),
           coalesce(array_agg(k.object_key order by k.backend) filter (where k.trouble is null and not k.stays and h.state = 'draining'), '{}')
      from copies k
      join health h on h.backend = k.backend
     group by k.content_hash;
$$;
comment on function reaper_internal.copy_tasks(text[], timestamptz) is
    'For claim_copies: good copies of contents in the order in which to read them, size, backends that cannot take another, and copies that a new one may replace.';
revoke all on function reaper_internal.copy_tasks(text[], timestamptz) from public;
