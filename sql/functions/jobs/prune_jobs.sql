-- prune_jobs: delete finished jobs of our tasks, a bounded number per call; procrastinate's own way is one unbounded statement.
create or replace function reaper.prune_jobs(p_older_than interval default '7 days', p_limit integer default 1000)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, procrastinate, pg_temp
as $$
declare
    v_pruned integer;
begin
    with old as materialized (
        select j.id
          from procrastinate.procrastinate_jobs j
         where starts_with(j.task_name, 'reaper:')
           and j.status in ('succeeded', 'failed', 'cancelled', 'aborted')
           and not exists (select from procrastinate.procrastinate_events e
                            where e.job_id = j.id and e.at > clock_timestamp() - p_older_than)
         order by j.id
         limit p_limit
           for update skip locked
    )
    delete from procrastinate.procrastinate_jobs j using old o where j.id = o.id;
    get diagnostics v_pruned = row_count;
    return v_pruned;
end;
$$;
comment on function reaper.prune_jobs(interval, integer) is
    'Deletes up to p_limit jobs of reaper''s tasks that ended more than p_older_than ago, with their events; returns how many. If it returns p_limit, call it again.';
revoke all on function reaper.prune_jobs(interval, integer) from public;
grant execute on function reaper.prune_jobs(interval, integer) to reaper_worker, reaper_ops;
