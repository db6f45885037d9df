-- drain: the database half of a drain, for psql: claim, drop, commit, until nothing is due.
-- Its released batches are ownerless: the next worker adopts them and deletes objects and cache entries.
-- A procedure that commits can have neither SECURITY DEFINER nor a SET clause, so every name here is qualified.
create or replace procedure reaper.drain(p_batch_size integer default 1000, p_max_batches integer default null)
    language plpgsql
as $$
declare
    v_worker   text    := pg_catalog.format('drain:%s:%s', pg_catalog.pg_backend_pid(), pg_catalog.gen_random_uuid());
    v_after    timestamptz := '-infinity';
    v_code     text;
    v_claim    record;
    v_batches  integer := 0;
    v_released integer := 0;
    v_failed   integer := 0;
    v_rows     bigint  := 0;
    v_dropped  integer;
    v_pauses   float8[] := '{0.05, 0.2, 1}';
    v_futile   integer := 0;
begin
    while p_max_batches is null or v_batches < p_max_batches loop
        -- A claim that a server crash undoes is repeated; the drop makes its own commit durable.
        perform pg_catalog.set_config('synchronous_commit', 'off', true);
        select c.* into v_claim from reaper.claim_expired(p_batch_size, v_worker, v_after, v_code) as c;
        commit;
        if v_claim.batch_id is null then
            -- The cursor has passed rows that were inserted late or returned: the drain ends only when a pass from the start
            -- releases nothing. Rows that another transaction held during their drop are tried a second and a third time: most
            -- often it was the claim of another drain. Rows whose content is held were waited for already.
            if v_released > 0 then
                v_futile := 0;
            else
                exit when not reaper.return_ownerless_rows() and reaper.count_ownerless_rows() = 0;
                v_futile := v_futile + 1;
                exit when v_futile > pg_catalog.cardinality(v_pauses);
                commit;
                perform pg_catalog.pg_sleep(v_pauses[v_futile]);
            end if;
            commit;
            v_released := 0;
            v_after := '-infinity';
            v_code := null;
            continue;
        end if;

        v_dropped := reaper.drop_or_return(v_claim.batch_id);
        commit;
        v_after := v_claim.last_expires_at;
        v_code := v_claim.last_short_code;
        if v_dropped is null then
            v_failed := v_failed + 1;
        else
            v_batches := v_batches + 1;
            v_released := v_released + v_dropped;
            v_rows := v_rows + v_dropped;
        end if;
    end loop;
    raise notice 'drained % rows in % batches; the next worker adopts them and deletes objects and cache entries', v_rows, v_batches;
    if v_failed > 0 then
        raise notice '% batches were not released (no lock, or no longer held); their rows were returned to NOT_EXPIRED', v_failed;
    end if;
end;
$$;
comment on procedure reaper.drain(integer, integer) is
    'Claims and releases due pastes batch by batch, with a COMMIT after each, until nothing more can be released or p_max_batches are done. '
    'Call it outside a transaction. The next worker adopts the batches and deletes objects and cache entries.';
revoke all on procedure reaper.drain(integer, integer) from public;
grant execute on procedure reaper.drain(integer, integer) to reaper_worker, reaper_ops;
