-- release_objects: turn the copies of deleted contents into objects to delete, in the transaction that deleted their rows.
-- Every copy is to be deleted, except under a name that live content still uses; reusable names are retired; and the bytes are booked as
-- queued for deletion from this commit on, so that no account shows room that does not exist.
create or replace function reaper_internal.release_objects(p_hashes text[], p_keys text[], p_sizes bigint[], p_now timestamptz)
    returns reaper.released_objects
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_objects  reaper.released_objects;
    v_names    reaper.released_objects;
    v_kept     text[];
begin
    if exists (select from reaper.object_locations) then
        select coalesce(array_agg(c.content_hash), '{}'), coalesce(array_agg(c.backend), '{}'),
               coalesce(array_agg(c.object_key), '{}'), coalesce(array_agg(c.size_bytes), '{}')
          into v_objects
          from reaper_internal.delete_object_locations(p_hashes, p_keys, p_sizes) as c;
    else
        v_objects := row(p_hashes, array_fill('default'::text, array[cardinality(p_hashes)]), p_keys, p_sizes);
    end if;

    select array_agg(n.content_hash), array_agg(n.backend), array_agg(n.object_key), null
      into v_names
      from reaper_internal.reusable_names(v_objects.hashes, v_objects.backends, v_objects.keys) as n;
    if v_names.keys is not null then
        v_kept := reaper_internal.names_in_use(v_names.hashes, v_names.backends, v_names.keys);
        if v_kept <> '{}' then
            select coalesce(array_agg(o.content_hash), '{}'), coalesce(array_agg(o.backend), '{}'),
                   coalesce(array_agg(o.object_key), '{}'), coalesce(array_agg(o.size_bytes), '{}')
              into v_objects
              from unnest(v_objects.hashes, v_objects.backends, v_objects.keys, v_objects.sizes) as o (content_hash, backend, object_key, size_bytes)
             where o.backend || '/' || o.object_key <> all (v_kept);
        end if;
        insert into reaper.retired_keys (object_key, retired_at)
        select n.object_key, p_now
          from unnest(v_names.backends, v_names.keys) as n (backend, object_key)
         where v_kept = '{}' or n.backend || '/' || n.object_key <> all (v_kept)
         order by n.object_key  -- in the order of the index: entries beside each other share its pages
            on conflict do nothing;
    end if;

    perform reaper_internal.delete_needs(p_hashes);
    insert into reaper.byte_deltas (backend, orphan_bytes)
    select o.backend, sum(o.size_bytes)
      from unnest(v_objects.backends, v_objects.sizes) as o (backend, size_bytes)
     group by o.backend
    having sum(o.size_bytes) <> 0;
    return v_objects;
end;
$$;
comment on function reaper_internal.release_objects(text[], text[], bigint[], timestamptz) is
    'Turns the copies of deleted contents into objects to delete, retires their reusable names and books their bytes as queued for deletion.';
revoke all on function reaper_internal.release_objects(text[], text[], bigint[], timestamptz) from public;
