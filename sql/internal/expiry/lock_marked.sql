-- lock_marked: lock the rows of a batch that are still marked, without waiting, and return their addresses.
-- They are looked up at the addresses that the claim recorded, which needs no index, and identified by their codes. If one is missing, was
-- updated since, or its address now belongs to another row, all are looked up by their codes. (Another row that is marked too stays locked
-- until the end of the transaction, which is harmless: others skip it.)
create or replace function reaper_internal.lock_marked(
    in  p_codes   text[],
    in  p_places  tid[],
    out codes     text[],
    out places    tid[],
    out hashes    text[]
)
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
begin
    select array_agg(h.short_code), array_agg(h.place), array_agg(h.content_hash)
      into codes, places, hashes
      from (select p.short_code, p.place, p.content_hash
              from reaper.pastes p
             where p.place = any (p_places) and p.deletion_status = 'DELETION_IN_PROGRESS'
               for update skip locked) as h;
    -- A claim records its rows in the order of their addresses, unless it had to be halved; they are read in the same order.
    if codes is distinct from p_codes then
        select array_agg(h.short_code), array_agg(h.place), array_agg(h.content_hash)
          into codes, places, hashes
          from (select p.short_code, p.place, p.content_hash
                  from reaper.pastes p
                 where p.short_code = any (p_codes) and p.deletion_status = 'DELETION_IN_PROGRESS'
                   for update skip locked) as h;
    end if;
end;
$$;
comment on function reaper_internal.lock_marked(text[], tid[]) is
    'For release_rows: locks the rows that are marked and that no other transaction holds; returns their codes, addresses and contents.';
revoke all on function reaper_internal.lock_marked(text[], tid[]) from public;
