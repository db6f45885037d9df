-- estimate_drain: what a drain would do now, at once: up to 10,000 due rows are counted, more are estimated. The number of rows is the
-- planner's for the time from the oldest due row, which the index knows, to now; objects and bytes come from a sample of the due rows, in
-- which each content weighs as much as its share of due pastes: a content that 50 due pastes name is drawn 50 times as often.
-- Volatile only because PostgreSQL allows EXPLAIN in no other function.
create or replace function reaper.estimate_drain()
    returns table (
        rows_due bigint, rows_blocked bigint, oldest_due timestamptz,
        objects_freed bigint, bytes_freed bigint, objects_kept bigint, rows_per_second numeric,
        rows_in_progress bigint, objects_unsized bigint, exact boolean
    )
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set plan_cache_mode = force_custom_plan
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_hashjoin = off
    set enable_mergejoin = off
    set jit = off
as $$
#variable_conflict use_column
declare
    c_counted  constant integer := 10000;
    v_now      timestamptz := reaper.clock();
    v_page     record;
    v_shares   record;
    v_claimed  bigint;
begin
    select count(*) as rows, min(d.expires_at) as oldest
      into v_page
      from (select p.expires_at from reaper.pastes p where p.expires_at <= v_now order by p.expires_at limit c_counted) as d;
    if v_page.rows < c_counted then
        return query
            select p.rows_due, p.rows_blocked, p.oldest_due, p.objects_freed, p.bytes_freed, p.objects_kept, s.rows_per_second,
                   p.rows_in_progress, p.objects_unsized, true
              from reaper.plan_page(v_now, p_limit => c_counted) as p
             cross join reaper.recent_speed() as s;
        return;
    end if;

    oldest_due := v_page.oldest;
    rows_due := greatest(reaper_internal.estimate_due(v_page.oldest, v_now), c_counted);
    rows_blocked := (select count(*) from reaper.blocked b where b.next_attempt > v_now);
    rows_in_progress := (select coalesce(sum(b.rows_claimed), 0) from reaper.batches b where b.state = 'CLAIMED');
    select * into v_shares from reaper_internal.sample_due(v_now);
    v_claimed := greatest(rows_due - rows_blocked - rows_in_progress, 0);
    objects_freed := round(v_claimed * v_shares.objects);
    objects_unsized := round(v_claimed * v_shares.unsized);
    objects_kept := round(v_claimed * v_shares.kept);
    bytes_freed := least(round(v_claimed * v_shares.bytes), 9223372036854775807);
    rows_per_second := (select s.rows_per_second from reaper.recent_speed() as s);
    exact := false;
    return next;
end;
$$;
comment on function reaper.estimate_drain() is
    'What a drain would do now, as plan_drain() says, but at once: counted up to 10000 due rows (exact), beyond that estimated from statistics and a sample of the due rows. Read-only.';
revoke all on function reaper.estimate_drain() from public;
grant execute on function reaper.estimate_drain() to reaper_ops, reaper_ro, reaper_worker;
