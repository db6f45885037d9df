-- add_reservations: book the bytes of intents that were just made, one row per backend.
create or replace function reaper_internal.add_reservations(p_lease uuid, p_hashes text[])
    returns void
    language sql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    insert into reaper.byte_deltas (backend, reserved_bytes)
    select i.destination, sum(i.size_bytes)
      from reaper.copy_intents i
     where i.lease = p_lease and i.content_hash = any (p_hashes)
     group by i.destination
    having sum(i.size_bytes) <> 0;
$$;
comment on function reaper_internal.add_reservations(uuid, text[]) is
    'For claim_copies and claim_moves: books the bytes that the intents of a lease for these contents reserve.';
revoke all on function reaper_internal.add_reservations(uuid, text[]) from public;
