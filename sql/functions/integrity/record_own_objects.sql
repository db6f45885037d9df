-- record_own_objects: write down the copies of contents that the application stored itself and that were found in the bucket: the import of
-- adopted content. Content rows are locked in hash order without waiting, so no release can miss the new location row; the rest is found again.
create or replace function reaper.record_own_objects(p_backend text, p_pass uuid, p_hashes text[], p_keys text[], p_sizes bigint[])
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_now     timestamptz := reaper.clock();
    v_free    text[];
    v_number  integer := 0;
    v_found   record;
begin
    perform reaper_internal.require_read_committed();
    v_free := array(select h.content_hash
                      from unnest(p_hashes) as h (content_hash)
                     where not exists (select from reaper.object_locations l where l.content_hash = h.content_hash collate "C"));
    if v_free = '{}' or p_backend <> 'default' then
        return 0;
    end if;
    lock table reaper.bindings in access share mode;
    v_free := array(select c.content_hash from reaper.content c where c.content_hash = any (v_free) order by c.content_hash for no key update skip locked);
    for v_found in
        select f.content_hash, f.size_bytes
          from unnest(p_hashes, p_keys, p_sizes) as f (content_hash, object_key, size_bytes)
          join reaper.content c on c.content_hash = f.content_hash and coalesce(c.object_key, c.content_hash) = f.object_key
         where f.content_hash = any (v_free)
         order by f.content_hash collate "C"
    loop
        v_number := v_number + reaper_internal.record_implicit_copy(v_found.content_hash, v_found.size_bytes, v_now)::integer;
    end loop;
    update reaper.reconciliations r set recorded = r.recorded + v_number where r.backend = p_backend and r.pass = p_pass;
    return v_number;
end;
$$;
comment on function reaper.record_own_objects(text, uuid, text[], text[], bigint[]) is
    'Makes location rows for those of these contents whose object, found on backend default under their own key with this size, has none; returns how many. RP006 outside read committed.';
revoke all on function reaper.record_own_objects(text, uuid, text[], text[], bigint[]) from public;
grant execute on function reaper.record_own_objects(text, uuid, text[], text[], bigint[]) to reaper_worker, reaper_ops;
