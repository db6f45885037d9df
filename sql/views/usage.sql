-- usage: what each backend was used for, by month. The sums of quiet processes and what the others have told beyond them, so that the figures
-- are right whether or not fold_usage() has run.
create or replace view reaper.usage as
    with told as (
        select m.month, m.backend, m.requests_read, m.requests_write, m.requests_list, m.requests_delete, m.ingress, m.egress
          from reaper.usage_monthly m
        union all
        select u.month, u.backend, u.requests_read - u.folded_requests_read, u.requests_write - u.folded_requests_write,
               u.requests_list - u.folded_requests_list, u.requests_delete - u.folded_requests_delete,
               u.ingress - u.folded_ingress, u.egress - u.folded_egress
          from reaper.usage_processes u
         where u.is_open
    ), added as (
        select t.month, t.backend, sum(t.requests_read) as reads, sum(t.requests_write) as writes, sum(t.requests_list) as lists,
               sum(t.requests_delete) as deletes, sum(t.ingress) as ingress, sum(t.egress) as egress
          from told t
         group by t.month, t.backend
    ), limits as (
        select l.backend,
               max(l.amount) filter (where l.what = 'monthly_requests') as requests,
               max(l.amount) filter (where l.what = 'monthly_ingress') as ingress,
               max(l.amount) filter (where l.what = 'monthly_egress') as egress
          from reaper.usage_limits l
         group by l.backend
    )
    select a.month,
           a.backend,
           least(a.reads + a.writes + a.lists + a.deletes, 9223372036854775807)::bigint as requests,
           least(a.reads, 9223372036854775807)::bigint as requests_read,
           least(a.writes, 9223372036854775807)::bigint as requests_write,
           least(a.lists, 9223372036854775807)::bigint as requests_list,
           least(a.deletes, 9223372036854775807)::bigint as requests_delete,
           least(a.ingress, 9223372036854775807)::bigint as ingress,
           least(a.egress, 9223372036854775807)::bigint as egress,
           l.requests as monthly_requests,
           l.ingress as monthly_ingress,
           l.egress as monthly_egress
      from added a
      left join limits l on l.backend = a.backend
     order by a.month, a.backend;
comment on view reaper.usage is 'S3 requests and bytes per backend and month (UTC), as far as processes have flushed them, and the limits that hold now.';
comment on column reaper.usage.month is 'First day of the month (UTC) in which the requests ended.';
comment on column reaper.usage.backend is 'Name of the backend as in reaper.toml.';
comment on column reaper.usage.requests is 'All requests, repetitions by the S3 client included.';
comment on column reaper.usage.requests_read is 'Requests that read: GET and HEAD of objects, reads of bucket settings.';
comment on column reaper.usage.requests_write is 'Requests that write: objects, parts, begin and end of uploads.';
comment on column reaper.usage.requests_list is 'Requests that list.';
comment on column reaper.usage.requests_delete is 'Requests that delete; one may name up to 1000 objects.';
comment on column reaper.usage.ingress is 'Bytes sent as bodies of requests.';
comment on column reaper.usage.egress is 'Bytes received as bodies of answers.';
comment on column reaper.usage.monthly_requests is 'Limit of requests per month; null = none. Changed by set_limit().';
comment on column reaper.usage.monthly_ingress is 'Limit of ingress per month in bytes; null = none.';
comment on column reaper.usage.monthly_egress is 'Limit of egress per month in bytes; null = none.';
revoke all on reaper.usage from public;
grant select on reaper.usage to reaper_worker, reaper_ops, reaper_ro;
