-- record_verified: these copies have the right bytes. Fenced by the key; rows that others hold are skipped and read again in the next round,
-- so no order of locks with a release can deadlock.
create or replace function reaper.record_verified(p_backend text, p_hashes text[], p_keys text[])
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_now     timestamptz := reaper.clock();
    v_number  integer;
begin
    with held as materialized (
        select l.content_hash, l.object_key
          from unnest(p_hashes, p_keys) as v (content_hash, object_key)
          join reaper.object_locations l on l.content_hash = v.content_hash and l.backend = p_backend and l.object_key = v.object_key
         where l.trouble is null
           for no key update of l skip locked
    )
    update reaper.object_locations l
       set verified_at = v_now
      from held h
     where l.content_hash = h.content_hash and l.backend = p_backend and l.object_key = h.object_key;
    get diagnostics v_number = row_count;
    return v_number;
end;
$$;
comment on function reaper.record_verified(text, text[], text[]) is
    'Records that these copies were read and have the right bytes; returns how many are still there, in no trouble and not locked.';
revoke all on function reaper.record_verified(text, text[], text[]) from public;
grant execute on function reaper.record_verified(text, text[], text[]) to reaper_worker, reaper_ops;
