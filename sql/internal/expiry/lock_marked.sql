-- lock_marked: lock the rows of a batch that are still marked, without waiting for anybody, and say where they are.
-- They are looked for where the claim left them, which costs no index. The codes tell whether it is they: where one is missing,
-- was changed since and lies elsewhere, or left its place to a stranger, all are looked for by their codes. (A stranger that
-- is marked too stays locked until the end of the transaction, and is nobody's loss: others skip it.)
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
    select array_agg(h.short_code), array_agg(h.ctid), array_agg(h.content_hash)
      into codes, places, hashes
      from (select p.short_code, p.ctid, p.content_hash
              from public.pastes p
             where p.ctid = any (p_places) and p.deletion_status = 'DELETION_IN_PROGRESS'
               for update skip locked) as h;
    -- A claim writes its rows down in the order of their places, unless it had to be halved, and that is how they are found again.
    if codes is distinct from p_codes then
        select array_agg(h.short_code), array_agg(h.ctid), array_agg(h.content_hash)
          into codes, places, hashes
          from (select p.short_code, p.ctid, p.content_hash
                  from public.pastes p
                 where p.short_code = any (p_codes) and p.deletion_status = 'DELETION_IN_PROGRESS'
                   for update skip locked) as h;
    end if;
end;
$$;
comment on function reaper_internal.lock_marked(text[], tid[]) is
    'For release_rows: locks the rows that are marked and that nobody else holds; returns their codes, places and contents.';
revoke all on function reaper_internal.lock_marked(text[], tid[]) from public;
