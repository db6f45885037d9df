-- plan_drain: what a drain would do now, counted exactly in one snapshot, page by page. Content is counted as freed only if every paste that
-- names it is due, with all its copies: bytes after dedup. It reads every due row; estimate_drain() answers at once.
create or replace function reaper.plan_drain()
    returns table (
        rows_due bigint, rows_blocked bigint, oldest_due timestamptz,
        objects_freed bigint, bytes_freed bigint, objects_kept bigint, rows_per_second numeric,
        rows_in_progress bigint, objects_unsized bigint
    )
    language plpgsql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
#variable_conflict use_column
declare
    c_page    constant integer := 10000;
    v_page    record;
    v_now     timestamptz := reaper.clock();
    v_after   timestamptz := '-infinity';
    v_code    text;
    v_judged  text[]  := '{}';
    v_bytes   numeric := 0;
begin
    rows_due := 0; rows_blocked := 0; objects_freed := 0; objects_kept := 0; rows_in_progress := 0; objects_unsized := 0;
    loop
        select * into v_page from reaper.plan_page(v_now, v_after, v_code, c_page, v_judged);
        oldest_due := coalesce(oldest_due, v_page.oldest_due);
        rows_due := rows_due + v_page.rows_due;
        rows_blocked := rows_blocked + v_page.rows_blocked;
        rows_in_progress := rows_in_progress + v_page.rows_in_progress;
        objects_freed := objects_freed + v_page.objects_freed;
        objects_unsized := objects_unsized + v_page.objects_unsized;
        objects_kept := objects_kept + v_page.objects_kept;
        v_bytes := v_bytes + v_page.bytes_freed;
        v_judged := v_judged || v_page.judged;
        exit when v_page.rows_due < c_page;
        v_after := v_page.last_expires_at;
        v_code := v_page.last_short_code;
    end loop;
    bytes_freed := least(v_bytes, 9223372036854775807);
    rows_per_second := (select s.rows_per_second from reaper.recent_speed() as s);
    return next;
end;
$$;
comment on function reaper.plan_drain() is
    'What a drain would do now, counted: due rows (of which rows_blocked wait and rows_in_progress are claimed), objects and bytes that would be deleted, contents kept because '
    'a live or blocked paste names them, objects without a recorded size, and the speed of the last batches. Reads every due row. Read-only.';
revoke all on function reaper.plan_drain() from public;
grant execute on function reaper.plan_drain() to reaper_ops, reaper_ro, reaper_worker;
