-- release_or_block: release the rows together; if PostgreSQL refuses, halve until each row that cannot be deleted is alone.
-- One bad row costs a few savepoints and never stops a drain. Transient errors (locks, deadlocks, resources) are raised to the caller, who
-- tries the whole batch again. Missing rights, which concern all rows, are found before (require_binding).
create or replace function reaper_internal.release_or_block(
    in  p_codes        text[],
    in  p_places       tid[],
    in  p_now          timestamptz,
    in  p_may_leave    integer,
    in  p_statuses     jsonb,
    out deleted_codes  text[],
    out busy_codes     text[],
    out object_hashes  text[],
    out object_keys    text[],
    out object_sizes   bigint[],
    out rows_returned  integer,
    out rows_blocked   integer
)
    language plpgsql volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_hashjoin = off
    set enable_mergejoin = off
    set jit = off
as $$
declare
    v_half     integer := cardinality(p_codes) / 2;
    v_left     record;
    v_right    record;
    v_state    text;
    v_message  text;
begin
    begin
        select * into v_left from reaper_internal.release_rows(p_codes, p_places, p_now, p_may_leave, p_statuses);
        deleted_codes := v_left.deleted_codes;
        busy_codes    := v_left.busy_codes;
        object_hashes := v_left.object_hashes;
        object_keys   := v_left.object_keys;
        object_sizes  := v_left.object_sizes;
        rows_returned := v_left.rows_returned;
        rows_blocked  := v_left.rows_blocked;
        return;
    exception when others then
        v_state := sqlstate;
        v_message := sqlerrm;
        if reaper_internal.is_transient(v_state) then
            raise;
        end if;
    end;

    if v_half = 0 then
        deleted_codes := '{}';
        object_hashes := '{}';
        object_keys   := '{}';
        object_sizes  := '{}';
        rows_returned := 0;
        rows_blocked  := reaper_internal.block_rows(p_codes, p_now, v_state, v_message, p_statuses);
        -- The row may still be marked: the failed attempt released its lock, and another transaction may hold it by now.
        select r.busy_codes into busy_codes from reaper_internal.return_rows(p_codes, p_statuses) as r;
        return;
    end if;

    -- Halves would lock contents in any order, and could deadlock with another batch: lock all of them now.
    perform reaper_internal.lock_contents(array(select p.content_hash from reaper.pastes p where p.short_code = any (p_codes)), p_may_leave is null);
    select * into v_left from reaper_internal.release_or_block(p_codes[:v_half], p_places[:v_half], p_now, p_may_leave, p_statuses);
    select * into v_right from reaper_internal.release_or_block(p_codes[v_half + 1:], p_places[v_half + 1:], p_now, p_may_leave, p_statuses);
    deleted_codes := v_left.deleted_codes || v_right.deleted_codes;
    busy_codes    := v_left.busy_codes || v_right.busy_codes;
    object_hashes := v_left.object_hashes || v_right.object_hashes;
    object_keys   := v_left.object_keys || v_right.object_keys;
    object_sizes  := v_left.object_sizes || v_right.object_sizes;
    rows_returned := v_left.rows_returned + v_right.rows_returned;
    rows_blocked  := v_left.rows_blocked + v_right.rows_blocked;
end;
$$;
comment on function reaper_internal.release_or_block(text[], tid[], timestamptz, integer, jsonb) is
    'For drop_references: release_rows on all codes, or on ever smaller parts; rows that PostgreSQL refuses to delete are recorded in reaper.blocked.';
revoke all on function reaper_internal.release_or_block(text[], tid[], timestamptz, integer, jsonb) from public;
