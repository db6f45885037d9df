-- drop_or_return: drop_references for drain(), which deletes no objects itself. Lock failures are tried three times, as a worker does;
-- then the rows are returned, and the caller continues with others.
create or replace function reaper.drop_or_return(p_batch_id uuid)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
begin
    for v_try in 1 .. 3 loop
        begin
            perform reaper.drop_references(p_batch_id);
            perform reaper.disown_batch(p_batch_id);
            return (select cardinality(b.short_codes) from reaper.batches b where b.batch_id = p_batch_id);
        exception
            when lock_not_available or deadlock_detected or serialization_failure then
                perform pg_sleep(0.05 * v_try * random());
            when sqlstate 'RP001' then
                return null;
        end;
    end loop;
    begin
        perform reaper.return_batch(p_batch_id);
    exception when sqlstate 'RP001' then
        null;  -- the batch was taken back since the last attempt
    end;
    return null;
end;
$$;
comment on function reaper.drop_or_return(uuid) is
    'For drain(): releases a claimed batch and leaves it ownerless; after three lock failures returns its rows. Returns the number of deleted rows, null if the batch was not released.';
revoke all on function reaper.drop_or_return(uuid) from public;
grant execute on function reaper.drop_or_return(uuid) to reaper_worker, reaper_ops;
