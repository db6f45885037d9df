-- record_needs: enter which of these contents want a copy, and which may lose one; in hash order, as every other function that writes several.
-- A want that is there keeps its turn, unless the content has become more endangered.
create or replace function reaper_internal.record_needs(p_hashes text[], p_now timestamptz)
    returns integer
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_wanted integer;
begin
    with needs as materialized (
        select n.content_hash, least(n.good, 16) as good, n.reason, n.is_wanted, n.is_excess
          from reaper_internal.copy_needs(p_hashes, p_now) as n
         where n.is_wanted or n.is_excess
    ), excess as (
        insert into reaper.copy_excess as e (content_hash, queued_at, next_attempt)
        select n.content_hash, p_now, p_now from needs n where n.is_excess order by n.content_hash collate "C"
            on conflict (content_hash) do update
           set next_attempt = p_now
         where e.next_attempt > p_now
    ), wants as (
        insert into reaper.copy_wants as w (content_hash, good, reason, queued_at, next_attempt)
        select n.content_hash, n.good, n.reason, p_now, p_now from needs n where n.is_wanted order by n.content_hash collate "C"
            on conflict (content_hash) do update
           set good         = excluded.good,
               reason       = excluded.reason,
               next_attempt = case when (w.good = 0) <> (excluded.good = 0) or excluded.good < w.good then p_now else w.next_attempt end
         where (w.good, w.reason) is distinct from (excluded.good, excluded.reason)
    )
    select count(*) filter (where n.is_wanted) into v_wanted from needs n;
    return v_wanted;
end;
$$;
comment on function reaper_internal.record_needs(text[], timestamptz) is
    'For sweep_copies and sync_needs: enters contents into copy_wants and copy_excess; returns how many of them want a copy.';
revoke all on function reaper_internal.record_needs(text[], timestamptz) from public;
