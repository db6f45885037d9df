-- retire_untracked: the first of two steps by which objects without a row are deleted: from this commit on no new content can take their names
-- (RP004). Content that is being inserted by an open transaction cannot see that: finish_untracked() waits for it before it queues anything.
create or replace function reaper.retire_untracked(p_backend text, p_keys text[], p_older_than interval default '1 day')
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_now   timestamptz := reaper.clock();
    v_keys  text[];
begin
    perform reaper_internal.require_read_committed();
    if p_older_than is null or p_older_than < interval '1 day' then
        raise exception sqlstate 'RP005' using
            message = format('invalid age of untracked objects: %s', coalesce(p_older_than::text, 'null')),
            hint    = 'Give a day or more: a writer may be about to insert the row of what it stored.';
    end if;
    perform reaper_internal.commit_durably();
    v_keys := array(select s.object_key
                      from reaper.sightings s
                     where s.backend = p_backend and s.object_key = any (p_keys) and s.retired_at is null
                       and s.first_seen <= v_now - p_older_than and s.last_seen >= s.first_seen + interval '1 day'
                     order by s.object_key
                       for update);
    v_keys := array(select k.object_key from unnest(v_keys) as k (object_key)
                     where k.object_key not in (select o.object_key from reaper.known_objects(p_backend, v_keys) as o)
                     order by k.object_key collate "C");
    insert into reaper.retired_keys (object_key, retired_at)
    select k.object_key, v_now from unnest(v_keys) as k (object_key) order by k.object_key collate "C"
        on conflict do nothing;
    update reaper.sightings s set retired_at = v_now, barrier = null where s.backend = p_backend and s.object_key = any (v_keys);
    return cardinality(v_keys);
end;
$$;
comment on function reaper.retire_untracked(text, text[], interval) is
    'Retires the names of those of these objects that no row names and that were seen for at least p_older_than (a day or more), so that they can be deleted; returns how many. '
    'finish_untracked() queues them once no open transaction can name them any more. RP005 for a shorter age, RP006 outside read committed.';
revoke all on function reaper.retire_untracked(text, text[], interval) from public;
grant execute on function reaper.retire_untracked(text, text[], interval) to reaper_worker, reaper_ops;
