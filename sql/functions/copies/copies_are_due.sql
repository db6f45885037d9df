-- copies_are_due: would claim_copies look at a content now? It looks at a bounded number, of which all may fit nowhere: then others wait behind
-- them. Looks along copy_wants_due, once for each number of good copies.
create or replace function reaper.copies_are_due()
    returns boolean
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    with moment as materialized (
        select reaper.clock() as at
    )
    select exists (select
                     from moment m
                    cross join generate_series(0, 16) as g (good)
                    cross join lateral (select from reaper.copy_wants w where w.good = g.good and w.next_attempt <= m.at limit 1) as due)
       and not reaper_internal.most_backends_fail();
$$;
comment on function reaper.copies_are_due() is
    'Whether a content wants a copy and is due, and copies are made at all: then a claim_copies that returned no row is worth another call.';
revoke all on function reaper.copies_are_due() from public;
grant execute on function reaper.copies_are_due() to reaper_worker, reaper_ops, reaper_ro;
