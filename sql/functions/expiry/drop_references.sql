-- drop_references: release the references of a batch and return the objects that no content needs any more.
-- One transaction decides and decrements, from the rows that it deleted itself; a crash leaves all of it or nothing.
-- Called again on a RELEASED batch it returns the recorded objects again: the first answer may have been lost.
create or replace function reaper.drop_references(p_batch_id uuid)
    returns table (content_hash text, backend text, object_key text, size_bytes bigint)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
    v_now       timestamptz := reaper.clock();
    v_batch     reaper.batches;
    v_released  record;
    v_objects   record;
begin
    perform reaper_internal.require_read_committed();
    perform reaper_internal.require_binding();
    v_batch := reaper_internal.lock_batch(p_batch_id, '{CLAIMED,RELEASED}');

    if v_batch.state = 'CLAIMED' then
        perform reaper_internal.commit_durably();
        begin
            -- Up to a tenth of the pastes are left out if their content is locked, so that parallel drops do not wait for each other.
            select * into v_released
              from reaper_internal.release_or_block(v_batch.short_codes, v_batch.places, v_now, cardinality(v_batch.short_codes) / 10,
                                                    v_batch.other_statuses);
        exception when lock_not_available then
            begin
                -- More are locked: trying them later would cost more than waiting now.
                select * into v_released from reaper_internal.release_or_block(v_batch.short_codes, v_batch.places, v_now, null, v_batch.other_statuses);
            exception when lock_not_available then
                -- A content row is locked for long: all other pastes are released, those of locked contents are returned.
                select * into v_released
                  from reaper_internal.release_or_block(v_batch.short_codes, v_batch.places, v_now, cardinality(v_batch.short_codes),
                                                        v_batch.other_statuses);
            end;
        end;
        select * into v_objects
          from reaper_internal.release_objects(v_released.object_hashes, v_released.object_keys, v_released.object_sizes, v_now);
        -- REVOKE waits for no lock: a right that was lost meanwhile undoes this drop instead of blocking its rows.
        perform reaper_internal.require_rights('pastes', '{DELETE}');
        perform reaper_internal.require_rights('content', '{UPDATE,DELETE}');

        -- Rows that another transaction holds stay marked, in an ownerless batch: the next claim from the start takes them, or the watchdog returns them.
        if v_released.busy_codes <> '{}' then
            insert into reaper.batches (batch_id, short_codes, other_statuses, rows_claimed, claimed_at, held_since)
            values (gen_random_uuid(), v_released.busy_codes, reaper_internal.statuses_of(v_batch.other_statuses, v_released.busy_codes),
                    cardinality(v_released.busy_codes), v_now, v_now);
        end if;

        update reaper.batches b
           set state           = 'RELEASED',
               short_codes     = v_released.deleted_codes,
               places          = null,
               other_statuses  = null,
               object_hashes   = v_objects.object_hashes,
               object_backends = v_objects.object_backends,
               object_keys     = v_objects.object_keys,
               object_sizes    = v_objects.object_sizes,
               rows_returned   = v_released.rows_returned,
               rows_blocked    = v_released.rows_blocked,
               released_at     = v_now
         where b.batch_id = p_batch_id
        returning b.* into v_batch;
    end if;

    return query
        select o.content_hash, o.backend, o.object_key, o.size_bytes
          from unnest(v_batch.object_hashes, v_batch.object_backends, v_batch.object_keys, v_batch.object_sizes)
               as o (content_hash, backend, object_key, size_bytes);
end;
$$;
comment on function reaper.drop_references(uuid) is
    'Deletes the batch''s paste rows that are still marked and still expired, subtracts their references, deletes the content rows '
    'that reach zero, and returns their objects, one per copy: delete those, then call finish_batch. RP001 if the batch is no longer held, RP006 outside read committed, RP010 if the binding does not hold.';
revoke all on function reaper.drop_references(uuid) from public;
grant execute on function reaper.drop_references(uuid) to reaper_worker, reaper_ops;
