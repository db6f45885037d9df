-- reap_without_owner: reap_expired for drain(), which deletes no objects itself: the batch is ownerless, for the next worker to adopt.
-- Lock failures are tried three times, as a worker does; then batch_id is null, and `error` says what is held.
create or replace function reaper.reap_without_owner(p_limit integer, p_after timestamptz, p_after_code text)
    returns table (batch_id uuid, released integer, last_expires_at timestamptz, last_short_code text, error text)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
    v_reaped  record;
    v_error   text;
begin
    for v_try in 1 .. 3 loop
        begin
            v_reaped := reaper_internal.reap(p_limit, null, p_after, p_after_code);
            if (v_reaped.batch).batch_id is not null then
                return query
                    select (v_reaped.batch).batch_id, cardinality((v_reaped.batch).short_codes), v_reaped.last_expires, v_reaped.last_code, null::text;
            end if;
            return;
        exception when lock_not_available or deadlock_detected or serialization_failure then
            v_error := sqlerrm;
            perform pg_sleep(0.05 * v_try * random());
        end;
    end loop;
    return query select null::uuid, 0, null::timestamptz, null::text, v_error;
end;
$$;
comment on function reaper.reap_without_owner(integer, timestamptz, text) is
    'For drain(): the same as reap_expired, but the batch is ownerless, and locks that stay held are reported in error instead of raised.';
revoke all on function reaper.reap_without_owner(integer, timestamptz, text) from public;
grant execute on function reaper.reap_without_owner(integer, timestamptz, text) to reaper_worker, reaper_ops;
