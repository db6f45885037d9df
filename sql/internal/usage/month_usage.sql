-- month_usage: what a backend was used for in a month: the sums of processes that are gone, and what the others have told beyond them.
-- One row by key and a few by a partial index, however many processes there were.
create or replace function reaper_internal.month_usage(p_backend text, p_month date)
    returns table (requests numeric, ingress numeric, egress numeric)
    language sql stable
as $$
    select coalesce(sum(t.requests), 0), coalesce(sum(t.ingress), 0), coalesce(sum(t.egress), 0)
      from (
            select m.requests_read + m.requests_write + m.requests_list + m.requests_delete as requests, m.ingress, m.egress
              from reaper.usage_monthly m
             where m.month = p_month and m.backend = p_backend
            union all
            select u.requests_read + u.requests_write + u.requests_list + u.requests_delete
                   - u.folded_requests_read - u.folded_requests_write - u.folded_requests_list - u.folded_requests_delete,
                   u.ingress - u.folded_ingress, u.egress - u.folded_egress
              from reaper.usage_processes u
             where u.is_open and u.month = p_month and u.backend = p_backend) as t;
$$;
comment on function reaper_internal.month_usage(text, date) is
    'Requests, ingress and egress of a backend in a month, as far as they were flushed.';
revoke all on function reaper_internal.month_usage(text, date) from public;
