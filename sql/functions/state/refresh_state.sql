-- refresh_state: the state gauges, which every worker serves. A caller that finds the snapshot older than p_max_age makes it anew under the lock of its
-- row; the others do not wait, and get the one before. So it is made once for all workers, and never while a program waits for its metrics.
create or replace function reaper.refresh_state(p_max_age interval default '8 seconds')
    returns table (taken_at timestamptz, age interval, gauges jsonb)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
#variable_conflict use_column
declare
    v_now     timestamptz := reaper.clock();
    v_mine    boolean := false;
    v_gauges  jsonb;
begin
    if not reaper_internal.is_fresh(v_now, p_max_age) then
        perform from reaper.state_snapshot for no key update skip locked;
        -- Another caller may have made it between the look and the lock.
        v_mine := found and not reaper_internal.is_fresh(v_now, p_max_age);
    end if;
    if v_mine then
        v_gauges := (select jsonb_agg(g.gauge)
                       from (select * from reaper_internal.health_gauges(v_now)
                             union all select * from reaper_internal.queue_gauges()
                             union all select * from reaper_internal.backend_gauges(v_now)
                             union all select * from reaper_internal.usage_gauges(v_now)
                             union all select * from reaper_internal.service_gauges()
                             union all select * from reaper_internal.copy_gauges()
                             union all select * from reaper_internal.integrity_gauges()) as g (gauge));
        update reaper.state_snapshot s set taken_at = v_now, gauges = v_gauges;
    end if;
    -- Never made yet: as old as nothing is; before PostgreSQL 17 infinite times cannot be subtracted.
    return query select s.taken_at, coalesce(reaper.clock() - nullif(s.taken_at, '-infinity'), interval '100 years'), s.gauges from reaper.state_snapshot s;
end;
$$;
comment on function reaper.refresh_state(interval) is
    'The state gauges as a JSON array of {"gauge", "labels", "value"}, made anew if they are older than p_max_age and no other session is making them; with the time and age of the snapshot. No count in it reads more than 100000 rows.';
revoke all on function reaper.refresh_state(interval) from public;
grant execute on function reaper.refresh_state(interval) to reaper_worker, reaper_ops;
