-- lock_pastes: lock paste rows by their addresses, without waiting, if they are still as the release needs them: marked (the rows of a
-- claim), or due and not marked (rows that are released directly).
-- An address needs no index, but only codes identify rows: if one is missing, was updated since, or its address now belongs to another
-- row, all are looked up by their codes. (Another row that was locked by its address stays locked until the end of the transaction, which
-- is harmless: others skip it.)
create or replace function reaper_internal.lock_pastes(p_codes text[], p_places tid[], p_marked boolean, p_now timestamptz)
    returns reaper.locked_pastes
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_locked  reaper.locked_pastes;
begin
    select array_agg(l.short_code), array_agg(l.place), array_agg(l.content_hash)
      into v_locked
      from (select p.short_code, p.place, p.content_hash
              from reaper.pastes p
             where p.place = any (p_places)
               and (p.deletion_status is not distinct from 'DELETION_IN_PROGRESS') = p_marked
               and (p_marked or p.expires_at <= p_now)
               for update skip locked) as l;
    -- The rows of a claim are recorded in the order of their addresses, and read in the same order.
    if v_locked.codes is distinct from p_codes then
        select array_agg(l.short_code), array_agg(l.place), array_agg(l.content_hash)
          into v_locked
          from (select p.short_code, p.place, p.content_hash
                  from reaper.pastes p
                 where p.short_code = any (p_codes)
                   and (p.deletion_status is not distinct from 'DELETION_IN_PROGRESS') = p_marked
                   and (p_marked or p.expires_at <= p_now)
                   for update skip locked) as l;
    end if;
    return v_locked;
end;
$$;
comment on function reaper_internal.lock_pastes(text[], tid[], boolean, timestamptz) is
    'For release_rows and mark_or_block: locks the rows that no other transaction holds and that are marked, or due and not marked; returns their codes, addresses and contents.';
revoke all on function reaper_internal.lock_pastes(text[], tid[], boolean, timestamptz) from public;
