-- wanted_copies: which contents want copies and why, from the first p_looked_at wants, the most endangered first. A bounded look along
-- copy_wants_due; nothing is changed.
create or replace function reaper.wanted_copies(p_looked_at integer default 10000)
    returns table (good integer, reason text, fits_nowhere boolean, contents bigint, oldest timestamptz, next_attempt timestamptz, example text,
                   last_error text, complete boolean)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    with looked as materialized (
        select w.good, w.reason, w.last_error is not distinct from reaper_internal.no_place_error() as fits_nowhere, w.queued_at, w.next_attempt,
               w.content_hash, w.last_error
          from reaper.copy_wants w
         order by w.good, w.next_attempt
         limit p_looked_at + 1
    )
    select l.good, l.reason, l.fits_nowhere, count(*), min(l.queued_at), min(l.next_attempt), min(l.content_hash),
           (array_agg(l.last_error order by l.content_hash))[1],
           (select count(*) <= p_looked_at from looked)
      from looked l
     group by l.good, l.reason, l.fits_nowhere
     order by l.good, l.fits_nowhere desc, l.reason;
$$;
comment on function reaper.wanted_copies(integer) is
    'Contents that want copies, by number of good copies and reason, from the p_looked_at most endangered; fits_nowhere: no backend can take the copy. example is one of them, last_error its last error. complete: there are no more.';
revoke all on function reaper.wanted_copies(integer) from public;
grant execute on function reaper.wanted_copies(integer) to reaper_worker, reaper_ops, reaper_ro;
