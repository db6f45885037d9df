-- fold_usage: add the totals of processes that are quiet for ten minutes to the sums of their months. Each row remembers how much of it was
-- added, so that a process that was only silent is counted on, and nothing is added twice. Rows of closed months, and flushes of more than
-- a day ago, are deleted.
create or replace function reaper.fold_usage(p_limit integer default 1000, p_older_than interval default '10 minutes')
    returns table (folded integer, deleted integer)
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
    v_now        timestamptz := reaper.clock();
    v_processes  uuid[];
    v_months     date[];
    v_backends   text[];
    v_flushes    integer;
begin
    perform reaper_internal.require_limit(p_limit);
    perform reaper_internal.require_age(p_older_than);
    -- Locked first, read in the next statement: what a report adds meanwhile is not marked as added without being added.
    select array_agg(q.process), array_agg(q.month), array_agg(q.backend)
      into v_processes, v_months, v_backends
      from (select u.process, u.month, u.backend
              from reaper.usage_processes u
             where u.is_open and (u.seen_at <= v_now - p_older_than or u.month < reaper_internal.oldest_open_month(v_now))
             order by u.process, u.month, u.backend
             limit p_limit
               for update skip locked) as q;
    insert into reaper.usage_monthly as m (month, backend, requests_read, requests_write, requests_list, requests_delete, ingress, egress)
    select u.month, u.backend,
           sum(u.requests_read - u.folded_requests_read), sum(u.requests_write - u.folded_requests_write),
           sum(u.requests_list - u.folded_requests_list), sum(u.requests_delete - u.folded_requests_delete),
           sum(u.ingress - u.folded_ingress), sum(u.egress - u.folded_egress)
      from unnest(v_processes, v_months, v_backends) as q (process, month, backend)
      join reaper.usage_processes u using (process, month, backend)
     group by u.month, u.backend
     order by u.month, u.backend
        on conflict (month, backend) do update
       set requests_read   = m.requests_read + excluded.requests_read,
           requests_write  = m.requests_write + excluded.requests_write,
           requests_list   = m.requests_list + excluded.requests_list,
           requests_delete = m.requests_delete + excluded.requests_delete,
           ingress         = m.ingress + excluded.ingress,
           egress          = m.egress + excluded.egress;
    update reaper.usage_processes u
       set is_open                = false,
           folded_requests_read   = u.requests_read,
           folded_requests_write  = u.requests_write,
           folded_requests_list   = u.requests_list,
           folded_requests_delete = u.requests_delete,
           folded_ingress         = u.ingress,
           folded_egress          = u.egress
      from unnest(v_processes, v_months, v_backends) as q (process, month, backend)
     where (u.process, u.month, u.backend) = (q.process, q.month, q.backend);
    get diagnostics folded = row_count;

    -- A day after its month was closed: a flush that still thought it open has ended.
    delete from reaper.usage_processes u
     where (u.process, u.month, u.backend) in (
            select o.process, o.month, o.backend from reaper.usage_processes o
             where not o.is_open and o.month < reaper_internal.oldest_open_month(v_now - interval '1 day')
             order by o.process, o.month, o.backend
             limit p_limit
               for update skip locked)
       and not u.is_open;
    get diagnostics deleted = row_count;
    delete from reaper.usage_flushes f
     where f.flush_id = any (array(select o.flush_id from reaper.usage_flushes o where o.flushed_at < v_now - interval '1 day'
                                    order by o.flushed_at limit p_limit));
    get diagnostics v_flushes = row_count;
    deleted := deleted + v_flushes;
    return next;
end;
$$;
comment on function reaper.fold_usage(integer, interval) is
    'Adds the usage of up to p_limit rows whose process has told nothing new for p_older_than to reaper.usage_monthly, each total once, and deletes up to p_limit rows each of closed months and old flushes. '
    'The sums of reaper.usage do not change by it.';
revoke all on function reaper.fold_usage(integer, interval) from public;
grant execute on function reaper.fold_usage(integer, interval) to reaper_worker, reaper_ops;
