-- release_objects: turn the copies of deleted contents into objects to delete, in the transaction that deleted their rows.
-- Every copy is to be deleted, except under a name that live content still uses; reusable names are retired; and the bytes are booked as
-- queued for deletion from this commit on, so that no account shows room that does not exist.
create or replace function reaper_internal.release_objects(
    in  p_hashes         text[],
    in  p_keys           text[],
    in  p_sizes          bigint[],
    in  p_now            timestamptz,
    out object_hashes    text[],
    out object_backends  text[],
    out object_keys      text[],
    out object_sizes     bigint[]
)
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_places  text[];
    v_names   text[];
    v_kept    text[];
begin
    if exists (select from reaper.object_locations) then
        select coalesce(array_agg(c.content_hash), '{}'), coalesce(array_agg(c.backend), '{}'),
               coalesce(array_agg(c.object_key), '{}'), coalesce(array_agg(c.size_bytes), '{}')
          into object_hashes, object_backends, object_keys, object_sizes
          from reaper_internal.delete_object_locations(p_hashes, p_keys, p_sizes) as c;
    else
        object_hashes   := p_hashes;
        object_backends := array_fill('default'::text, array[cardinality(p_hashes)]);
        object_keys     := p_keys;
        object_sizes    := p_sizes;
    end if;

    select array_agg(n.backend), array_agg(n.object_key)
      into v_places, v_names
      from reaper_internal.reusable_names(object_hashes, object_backends, object_keys) as n;
    if v_names is not null then
        v_kept := reaper_internal.names_in_use(v_places, v_names);
        if v_kept <> '{}' then
            select coalesce(array_agg(o.content_hash), '{}'), coalesce(array_agg(o.backend), '{}'),
                   coalesce(array_agg(o.object_key), '{}'), coalesce(array_agg(o.size_bytes), '{}')
              into object_hashes, object_backends, object_keys, object_sizes
              from unnest(object_hashes, object_backends, object_keys, object_sizes) as o (content_hash, backend, object_key, size_bytes)
             where o.backend || '/' || o.object_key <> all (v_kept);
        end if;
        insert into reaper.retired_keys (object_key, retired_at)
        select distinct n.object_key, p_now
          from unnest(v_places, v_names) as n (backend, object_key)
         where n.backend || '/' || n.object_key <> all (v_kept)
            on conflict do nothing;
    end if;

    insert into reaper.byte_deltas (backend, orphan_bytes)
    select o.backend, sum(o.size_bytes)
      from unnest(object_backends, object_sizes) as o (backend, size_bytes)
     group by o.backend
    having sum(o.size_bytes) <> 0;
end;
$$;
comment on function reaper_internal.release_objects(text[], text[], bigint[], timestamptz) is
    'Turns the copies of deleted contents into objects to delete, retires their reusable names and books their bytes as queued for deletion.';
revoke all on function reaper_internal.release_objects(text[], text[], bigint[], timestamptz) from public;
