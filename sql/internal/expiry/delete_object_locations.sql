-- delete_object_locations: delete the location rows of deleted contents, subtract their bytes, and return their objects, one per copy.
-- This transaction has deleted the content rows, so no other can add a copy. Content without a location row was stored by the
-- application: one object on backend default, in no byte account.
create or replace function reaper_internal.delete_object_locations(p_hashes text[], p_keys text[], p_sizes bigint[])
    returns table (content_hash text, backend text, object_key text, size_bytes bigint)
    language sql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
    with taken as (
        delete from reaper.object_locations l
         where l.content_hash = any (p_hashes)
        returning l.content_hash, l.backend, l.object_key, l.size_bytes
    ), booked as (
        insert into reaper.byte_deltas (backend, used_bytes)
        select t.backend, - sum(t.size_bytes) from taken t group by t.backend
    )
    select t.content_hash, t.backend, t.object_key, t.size_bytes from taken t
    union all
    select o.content_hash, 'default', o.object_key, o.size_bytes
      from unnest(p_hashes, p_keys, p_sizes) as o (content_hash, object_key, size_bytes)
     where not exists (select from taken t where t.content_hash = o.content_hash);
$$;
comment on function reaper_internal.delete_object_locations(text[], text[], bigint[]) is
    'For release_objects: deletes the location rows of contents, subtracts their bytes from what is used, and returns their objects.';
revoke all on function reaper_internal.delete_object_locations(text[], text[], bigint[]) from public;
