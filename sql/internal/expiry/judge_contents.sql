-- judge_contents: what a drain would make of these contents, looking at up to p_pastes pastes of each (null = at all of them).
-- Freed is content of which every paste is due, neither blocked nor claimed, and whose ref_count is not higher than their number. `is_later`
-- says that one of these pastes comes after the cursor: content is counted once, where its last one is.
create or replace function reaper_internal.judge_contents(
    p_hashes   text[],
    p_blocked  text[],
    p_now      timestamptz,
    p_after    timestamptz,
    p_code     text,
    p_pastes   integer
)
    returns table (content_hash text, pastes bigint, due bigint, freed boolean, kept boolean, is_later boolean)
    language sql stable
as $$
    select c.content_hash::text, n.pastes, n.due,
           n.pastes = n.due and coalesce(c.ref_count, 0) <= n.pastes,
           n.kept or (n.pastes = n.due and coalesce(c.ref_count, 0) > n.pastes),
           n.is_later
      from unnest(p_hashes) as h (content_hash)
      join reaper.content c on c.content_hash = h.content_hash
     cross join lateral (
         select count(*) as pastes,
                count(*) filter (where p.is_due) as due,
                coalesce(bool_or(p.is_live or p.is_blocked), false) as kept,
                coalesce(bool_or(p.is_due and (p.expires_at, p.short_code) > (p_after, p_code)), false) as is_later
           from (select x.expires_at, x.short_code, l.is_live, b.is_blocked,
                        not l.is_live and not b.is_blocked and x.deletion_status is distinct from 'DELETION_IN_PROGRESS' as is_due
                   from (select q.expires_at, q.short_code, q.deletion_status
                           from reaper.pastes q
                          where q.content_hash = c.content_hash
                          limit p_pastes) as x
                  cross join lateral (select x.expires_at is null or x.expires_at > p_now as is_live) as l
                  cross join lateral (select x.short_code = any (p_blocked) as is_blocked) as b) as p
     ) as n;
$$;
comment on function reaper_internal.judge_contents(text[], text[], timestamptz, timestamptz, text, integer) is
    'For plan_page and estimate_drain: which contents a drain would free, keep because a live or blocked paste names them, or neither (claimed by others).';
revoke all on function reaper_internal.judge_contents(text[], text[], timestamptz, timestamptz, text, integer) from public;
