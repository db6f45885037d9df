-- reap: release the next due rows and record what is left to do outside, in one transaction: a claim and its drop without the mark between
-- them. A crash leaves all of it or nothing, so no row is ever given back.
-- From the start it returns nothing only when nothing is left to release: rows that a drop left marked are released too, and rows that other
-- transactions hold are waited for; if these are still held then, lock_not_available is raised.
create or replace function reaper_internal.reap(
    in  p_limit       integer,
    in  p_worker      text,
    in  p_after       timestamptz,
    in  p_after_code  text,
    out batch         reaper.batches,
    out last_expires  timestamptz,
    out last_code     text
)
    language plpgsql volatile
as $$
declare
    v_now      timestamptz := reaper.clock();
    v_start    boolean := coalesce(p_after, '-infinity') = '-infinity' and p_after_code is null;
    v_wait     boolean := true;
    v_reaped   record;
    v_release  reaper.release;
    v_objects  reaper.released_objects;
begin
    perform reaper_internal.require_limit(p_limit);
    perform reaper_internal.require_read_committed();
    perform reaper_internal.require_binding();
    perform reaper_internal.commit_durably();
    -- Deferred constraints of the application are checked where one bad row can be told from the rest; those that the calling transaction
    -- violates already end this call here, before a row is blamed for them.
    set constraints all immediate;

    last_expires := p_after;
    last_code := p_after_code;
    loop
        v_reaped := reaper_internal.reap_due(p_limit, last_expires, last_code, v_now, v_wait);
        v_release := v_reaped.release;
        exit when v_reaped.last_code is null;
        last_expires := v_reaped.last_expires;
        last_code := v_reaped.last_code;
        exit when v_release.deleted_codes is not null;
        v_wait := false;  -- Once a call: a content that is held for long may be that of a million rows.
    end loop;
    if v_release.deleted_codes is null and v_start then
        v_release := coalesce(
            reaper_internal.reap_ownerless(p_limit, v_now, false),
            reaper_internal.reap_held(p_limit, v_now),
            reaper_internal.reap_ownerless(p_limit, v_now, true));
        last_expires := null;  -- From the start; -infinity is a moment that not every client can read.
        last_code := null;
    end if;
    if v_release.deleted_codes is null then
        return;
    end if;

    v_objects := reaper_internal.release_objects(v_release.object_hashes, v_release.object_keys, v_release.object_sizes, v_now);
    perform reaper_internal.require_kept_rights();
    insert into reaper.batches as b (
        batch_id, state, worker, short_codes, object_hashes, object_backends, object_keys, object_sizes,
        rows_claimed, rows_returned, rows_blocked, claimed_at, held_since, released_at)
    values (
        gen_random_uuid(), 'RELEASED', p_worker, v_release.deleted_codes, v_objects.hashes, v_objects.backends, v_objects.keys, v_objects.sizes,
        cardinality(v_release.deleted_codes) + v_release.rows_blocked, 0, v_release.rows_blocked, v_now, v_now, v_now)
    returning b.* into batch;
    if reaper_internal.is_subscribed('batch.released') then
        perform reaper_internal.emit_released(batch);
    end if;
end;
$$;
comment on function reaper_internal.reap(integer, text, timestamptz, text) is
    'For reap_expired, reap_batch and reap_without_owner: releases up to p_limit due rows after the cursor and returns their RELEASED batch and the new cursor; batch is null if there is none.';
revoke all on function reaper_internal.reap(integer, text, timestamptz, text) from public;
