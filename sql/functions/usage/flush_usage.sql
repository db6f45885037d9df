-- flush_usage: take over what processes tell of their S3 requests. Rows carry totals since the start of the process, of which the greatest is
-- kept: a report that is repeated, late or lost harms nothing, because the next one carries it too. Months are told apart by the callers,
-- which learn our clock from the answer.
create or replace function reaper.flush_usage(p_flush_id uuid, p_rows jsonb)
    returns table (rows_changed integer, flush_again_in interval, now timestamptz)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
#variable_conflict use_column
declare
    v_now   timestamptz := reaper.clock();
    v_near  boolean;
begin
    if p_flush_id is null then
        raise exception sqlstate 'RP005' using
            message = 'p_flush_id must not be null',
            hint    = 'Give each flush a uuid of its own, such as gen_random_uuid(), and its repetitions the same.';
    end if;
    perform reaper_internal.require_usage_rows(p_rows);
    rows_changed := 0;
    if not exists (select from reaper.usage_flushes f where f.flush_id = p_flush_id) then
        rows_changed := reaper_internal.keep_greatest(p_rows, v_now);
        if rows_changed > 0 then
            insert into reaper.usage_flushes (flush_id, flushed_at, rows) values (p_flush_id, v_now, rows_changed);
        end if;
    end if;
    v_near := reaper_internal.is_near_a_limit(v_now);
    if v_near then
        perform reaper_internal.hasten_usage_flush(v_now);
    end if;
    flush_again_in := case when v_near then interval '5 seconds' else interval '30 seconds' end;
    now := v_now;
    return next;
end;
$$;
comment on function reaper.flush_usage(uuid, jsonb) is
    'Takes over the totals of S3 requests: [{"process", "month", "backend", "requests_read", "requests_write", "requests_list", "requests_delete", "ingress", "egress"}], and keeps the greatest per '
    'process, month and backend. A repeated p_flush_id changes nothing. Returns how many rows changed, when to flush again (5 seconds near a monthly limit, else 30), and the time. RP005 for invalid rows.';
revoke all on function reaper.flush_usage(uuid, jsonb) from public;
grant execute on function reaper.flush_usage(uuid, jsonb) to reaper_worker, reaper_app, reaper_ops;
