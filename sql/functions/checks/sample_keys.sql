-- sample_keys: object keys to look for before the first deletion: some rows of random pages of the content table, so that a large table is
-- not read. Content with a row in object_locations was stored by reaper and is left out. Content that a live paste names comes first: its
-- object must be there, while an application may have deleted the objects of expired pastes by itself.
create or replace function reaper.sample_keys(p_limit integer default 100)
    returns table (content_hash text, backend text, object_key text, size_bytes bigint)
    language plpgsql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
    set plan_cache_mode = force_custom_plan
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_hashjoin = off
    set enable_mergejoin = off
    set jit = off
as $$
#variable_conflict use_column
declare
    c_candidates  constant integer := 10;  -- so many rows are read for each that is returned
    v_places      tid[];
begin
    perform reaper_internal.require_limit(p_limit);
    if reaper_internal.base_table('content') is null then
        return;
    end if;
    v_places := reaper_internal.sample_places('content', p_limit, c_candidates);
    return query select * from reaper_internal.keys_to_look_for(v_places, p_limit);
    if not found then
        -- All of the sample was stored by reaper, or the pages were empty: what the next drain would release.
        v_places := array(select c.place
                            from (select p.content_hash from reaper.pastes p
                                   where p.expires_at <= reaper.clock() order by p.expires_at limit p_limit * c_candidates) as due
                            join reaper.content c on c.content_hash = due.content_hash);
        return query select * from reaper_internal.keys_to_look_for(v_places, p_limit);
    end if;
    if not found then
        return query select * from reaper_internal.released_keys(p_limit);
    end if;
end;
$$;
comment on function reaper.sample_keys(integer) is
    'Up to p_limit object keys of contents without a row in object_locations, by chance, those that live pastes name first; without any, keys that wait for their deletion: to find out whether '
    'objects lie under them before anything is deleted. Reads some pages of the table. Report the result to record_key_check().';
revoke all on function reaper.sample_keys(integer) from public;
grant execute on function reaper.sample_keys(integer) to reaper_worker, reaper_ops;
