-- release_claimed: release the rows of a claimed batch and write into it what is left to do outside; the heart of drop_references.
-- One transaction decides and decrements, from the rows that it deleted itself; a crash leaves all of it or nothing.
-- Called again on a RELEASED batch it returns that: the first answer may have been lost.
create or replace function reaper_internal.release_claimed(p_batch_id uuid)
    returns reaper.batches
    language plpgsql volatile
as $$
declare
    v_now      timestamptz := reaper.clock();
    v_batch    reaper.batches;
    v_release  reaper.release;
    v_objects  reaper.released_objects;
begin
    perform reaper_internal.require_read_committed();
    perform reaper_internal.require_binding();
    v_batch := reaper_internal.lock_batch(p_batch_id, '{CLAIMED,RELEASED}');
    if v_batch.state = 'RELEASED' then
        return v_batch;
    end if;

    perform reaper_internal.commit_durably();
    set constraints all immediate;  -- as in reap
    v_release := reaper_internal.release_patiently(
        v_batch.short_codes, v_batch.places, true, v_now, '{leave_few,wait,leave_all}', v_batch.other_statuses);
    v_objects := reaper_internal.release_objects(v_release.object_hashes, v_release.object_keys, v_release.object_sizes, v_now);
    perform reaper_internal.disown_rows(v_release.busy_codes, v_batch.other_statuses, v_now);
    perform reaper_internal.require_kept_rights();

    update reaper.batches b
       set state           = 'RELEASED',
           short_codes     = v_release.deleted_codes,
           places          = null,
           other_statuses  = null,
           object_hashes   = v_objects.hashes,
           object_backends = v_objects.backends,
           object_keys     = v_objects.keys,
           object_sizes    = v_objects.sizes,
           rows_returned   = v_release.rows_returned,
           rows_blocked    = v_release.rows_blocked,
           released_at     = v_now
     where b.batch_id = p_batch_id
    returning b.* into v_batch;
    if reaper_internal.is_subscribed('batch.released') then
        perform reaper_internal.emit_released(v_batch);
    end if;
    return v_batch;
end;
$$;
comment on function reaper_internal.release_claimed(uuid) is
    'For drop_references and drop_batch: releases a CLAIMED batch and returns it as it is recorded; a RELEASED one is returned as it is. RP001 if it is no longer held.';
revoke all on function reaper_internal.release_claimed(uuid) from public;
