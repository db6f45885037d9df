-- hold_marked: lock the rows of a batch that are still marked, without waiting for anybody, and say where they are.
-- Each is looked for where it was seen a moment ago, which costs no index; the code tells whether it is still that row. One that
-- was changed since has moved, and is left for another claim, like one that somebody holds.
-- Only rows whose content the caller holds: somebody may have given a paste other content meanwhile. That is rare, so it is
-- looked for in one set operation, and each row is asked only where there is such a one.
create or replace function reaper.hold_marked(
    in  p_codes   text[],
    in  p_places  tid[],
    in  p_hashes  text[],
    out codes     text[],
    out places    tid[]
)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_hashjoin = on
    set enable_mergejoin = off
    set jit = off
as $$
declare
    v_hashes text[];
begin
    select array_agg(h.short_code), array_agg(h.ctid), array_agg(h.content_hash)
      into codes, places, v_hashes
      from unnest(p_codes, p_places) as s (short_code, place)
     cross join lateral (select p.short_code, p.ctid, p.content_hash
                           from public.pastes p
                          where p.ctid = s.place and p.short_code = s.short_code and p.deletion_status = 'DELETION_IN_PROGRESS'
                            for update skip locked) as h;
    if v_hashes <> p_hashes and exists (select unnest(v_hashes) except select unnest(p_hashes)) then
        select array_agg(h.short_code), array_agg(h.place)
          into codes, places
          from unnest(codes, places, v_hashes) as h (short_code, place, content_hash)
         where h.content_hash in (select unnest(p_hashes));
    end if;
end;
$$;
comment on function reaper.hold_marked(text[], tid[], text[]) is
    'Internal to release_rows: locks the rows that are marked, that nobody else holds, and whose content is among p_hashes; returns their codes and places.';
revoke all on function reaper.hold_marked(text[], tid[], text[]) from public;
