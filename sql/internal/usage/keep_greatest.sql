-- keep_greatest: take over totals of processes, each figure only if it is greater than what is known. A report that comes twice, late or
-- out of order changes nothing. In key order: two flushes that tell of the same processes wait for each other and never in a circle.
create or replace function reaper_internal.keep_greatest(p_rows jsonb, p_now timestamptz)
    returns integer
    language plpgsql volatile
as $$
declare
    v_changed integer;
begin
    insert into reaper.usage_processes as u (
        process, month, backend, requests_read, requests_write, requests_list, requests_delete, ingress, egress, seen_at)
    select r.process, r.month, r.backend, coalesce(max(r.requests_read), 0), coalesce(max(r.requests_write), 0), coalesce(max(r.requests_list), 0),
           coalesce(max(r.requests_delete), 0), coalesce(max(r.ingress), 0), coalesce(max(r.egress), 0), p_now
      from jsonb_to_recordset(p_rows) as r (
            process uuid, month date, backend text, requests_read bigint, requests_write bigint, requests_list bigint,
            requests_delete bigint, ingress bigint, egress bigint)
     where r.month >= reaper_internal.oldest_open_month(p_now)
       -- The clock of a process may be a moment ahead of ours when the month ends.
       and r.month <= reaper_internal.month_of(p_now + interval '1 day')
     group by r.process, r.month, r.backend
     order by r.process, r.month, r.backend collate "C"
        on conflict (process, month, backend) do update
       set requests_read   = greatest(u.requests_read, excluded.requests_read),
           requests_write  = greatest(u.requests_write, excluded.requests_write),
           requests_list   = greatest(u.requests_list, excluded.requests_list),
           requests_delete = greatest(u.requests_delete, excluded.requests_delete),
           ingress         = greatest(u.ingress, excluded.ingress),
           egress          = greatest(u.egress, excluded.egress),
           is_open         = true,
           seen_at         = excluded.seen_at
     where excluded.requests_read > u.requests_read
        or excluded.requests_write > u.requests_write
        or excluded.requests_list > u.requests_list
        or excluded.requests_delete > u.requests_delete
        or excluded.ingress > u.ingress
        or excluded.egress > u.egress;
    get diagnostics v_changed = row_count;
    return v_changed;
end;
$$;
comment on function reaper_internal.keep_greatest(jsonb, timestamptz) is
    'For flush_usage: takes over the greatest totals of each process, and returns how many rows changed. Rows of closed months are passed over.';
revoke all on function reaper_internal.keep_greatest(jsonb, timestamptz) from public;
