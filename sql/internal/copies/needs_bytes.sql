-- needs_bytes: does a content that exists need the bytes of a put, because none of its copies is good? Not where a bad copy must stay in the very
-- place that readers look at: then only its object could be restored. Almost always no copy is in trouble and no backend fails: two short looks.
create or replace function reaper_internal.needs_bytes(p_content_hash text, p_now timestamptz)
    returns boolean
    language plpgsql stable
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
begin
    if not exists (select from reaper.object_locations l where l.content_hash = p_content_hash and l.trouble is not null)
       and not exists (select from reaper.circuits c where c.failing_since is not null)
    then
        return false;
    end if;
    return coalesce((select n.good = 0 from reaper_internal.copy_needs(array[p_content_hash], p_now) as n), false)
       and not (reaper_internal.own_key_stays()
                and exists (select from reaper.copies_of(p_content_hash) as k
                              join reaper.content c on c.content_hash = p_content_hash
                             where k.backend = 'default' and k.object_key = coalesce(c.object_key, c.content_hash)::text collate "C"));
end;
$$;
comment on function reaper_internal.needs_bytes(text, timestamptz) is
    'For begin_put and add_reference: whether a content has no good copy, and the bytes of a put can become one.';
revoke all on function reaper_internal.needs_bytes(text, timestamptz) from public;
