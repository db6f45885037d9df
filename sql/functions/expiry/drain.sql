-- drain: the database half of a drain, for psql: release a batch, commit, until nothing is due.
-- Its batches are ownerless: the next worker adopts them and deletes objects and cache entries. Rows are released directly, whatever
-- settings.claim_mode says: this session may be cancelled at any moment, and must leave no row marked.
-- A procedure that commits can have neither SECURITY DEFINER nor a SET clause, so every name here is qualified.
create or replace procedure reaper.drain(
    p_batch_size     integer default 1000,
    p_max_batches    integer default null,
    p_despite_pause  boolean default false
)
    language plpgsql
as $$
declare
    v_after    timestamptz := '-infinity';
    v_code     text;
    v_reaped   record;
    v_batches  integer := 0;
    v_released integer := 0;
    v_rows     bigint  := 0;
    v_pauses   float8[] := '{0.05, 0.2, 1}';
    v_grows    boolean := p_batch_size = 1000 and p_max_batches is null;
    v_size     float8  := p_batch_size;
    v_most     float8  := 5000;
    v_began    timestamptz;
    v_seconds  float8;
    v_futile   integer := 0;
    v_held     text;
    v_pause    text;
begin
    -- A transaction that began before this statement is a transaction block, unless the extended protocol began it with its first message;
    -- then there is a portal, and PostgreSQL itself refuses the COMMIT, before anything was done.
    if pg_catalog.transaction_timestamp() < pg_catalog.statement_timestamp() and not exists (select from pg_catalog.pg_cursors) then
        raise exception invalid_transaction_termination using
            message = 'reaper.drain() commits after each batch, so it cannot run inside a transaction block',
            hint    = 'Call it outside a transaction block; in psql: \set AUTOCOMMIT on; in psycopg: autocommit=True.';
    end if;
    commit;

    v_pause := case when p_despite_pause is not true then reaper.pause_of('drain') end;
    if v_pause is not null then
        raise exception sqlstate 'RP011' using
            message = v_pause,
            hint    = 'Resume it (select reaper.resume(''drain'');), or drain all the same: call reaper.drain(p_despite_pause => true);';
    end if;
    if (select k.keys_confirmed is null from reaper.key_binding() as k) then
        raise notice 'it was not looked yet whether objects lie under the object keys of %: run reaper doctor',
            (select k.bound_table from reaper.key_binding() as k);
    end if;
    while p_max_batches is null or v_batches < p_max_batches loop
        -- A pause that begins meanwhile holds from the next claim on.
        v_pause := case when p_despite_pause is not true then reaper.pause_of('drain') end;
        exit when v_pause is not null;
        v_began := pg_catalog.clock_timestamp();
        select r.* into v_reaped from reaper.reap_without_owner(v_size::integer, v_after, v_code) as r;
        commit;
        if v_grows then
            -- As the lanes of workers: larger batches cost less per row, and hold their locks for longer.
            v_seconds := extract(epoch from pg_catalog.clock_timestamp() - v_began);
            v_most := case when v_seconds > 0.2 then greatest(1000, v_size / 2) else v_most end;
            v_size := greatest(1000, least(v_most, v_size * 0.2 / greatest(v_seconds, 0.001)));
        end if;
        v_held := v_reaped.error;
        exit when v_held is not null;
        if v_reaped.batch_id is null then
            -- The cursor has passed rows that were inserted late or left: the drain ends only when a pass from the start releases nothing.
            -- Rows that drops of others left marked, and that another transaction still holds, are tried a second and a third time.
            if v_released > 0 then
                v_futile := 0;
            else
                exit when reaper.count_ownerless_rows() = 0;
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
        v_after := v_reaped.last_expires_at;
        v_code := v_reaped.last_short_code;
        v_batches := v_batches + 1;
        v_released := v_released + v_reaped.released;
        v_rows := v_rows + v_reaped.released;
    end loop;
    raise notice 'drained % in %; the next worker adopts them and deletes objects and cache entries',
        pg_catalog.concat_ws(' ', v_rows, case when v_rows = 1 then 'row' else 'rows' end),
        pg_catalog.concat_ws(' ', v_batches, case when v_batches = 1 then 'batch' else 'batches' end);
    if v_held is not null then
        raise warning 'drain ended before all rows were released: %', v_held;
    end if;
    if v_pause is not null then
        raise warning 'drain stopped before its next batch: %', v_pause;
    end if;
end;
$$;
comment on procedure reaper.drain(integer, integer, boolean) is
    'Releases due pastes batch by batch, as reap_expired does, with a COMMIT after each, until nothing more can be released, p_max_batches are done, or the drain is paused. '
    'Batches of the default size grow up to 5000 rows while one takes less than 0.2 seconds; with another p_batch_size, or with p_max_batches, all are of that size. '
    'While the drain is paused it refuses (RP011), unless p_despite_pause. '
    'Call it outside a transaction block (2D000). A notice says so while it was not looked yet whether objects lie under the bound object keys. '
    'The next worker adopts the batches and deletes objects and cache entries.';
revoke all on procedure reaper.drain(integer, integer, boolean) from public;
grant execute on procedure reaper.drain(integer, integer, boolean) to reaper_worker, reaper_ops;
