-- runs_by_minute: what finished batches deleted, by minute. Reads the newest 20,000 batches at most, from the end of the primary key, so that
-- a history of years costs nothing.
create or replace function reaper.runs_by_minute(p_since interval default '24 hours')
    returns table (minute timestamptz, rows_deleted bigint, objects_deleted bigint, bytes_freed bigint)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    select date_trunc('minute', r.finished_at),
           sum(r.rows_deleted)::bigint,
           sum(r.objects_deleted)::bigint,
           least(sum(r.bytes_freed), 9223372036854775807)::bigint
      from (select l.finished_at, l.rows_deleted, l.objects_deleted, l.bytes_freed
              from reaper.runs l order by l.run_id desc limit 20000) as r
     where r.finished_at > reaper.clock() - p_since
     group by 1
     order by 1;
$$;
comment on function reaper.runs_by_minute(interval) is
    'Rows, objects and bytes that batches deleted, by the minute in which they finished; minutes without a batch are left out. Reads the newest 20000 batches at most.';
revoke all on function reaper.runs_by_minute(interval) from public;
grant execute on function reaper.runs_by_minute(interval) to reaper_worker, reaper_ops, reaper_ro;
