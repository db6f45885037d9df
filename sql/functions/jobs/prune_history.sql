-- prune_history: delete old figures, drift and job errors, and earlier the codes and hashes of finished runs; a bounded number of each per
-- call. The audit is kept.
create or replace function reaper.prune_history(p_older_than interval default '90 days', p_limit integer default 1000)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
declare
    v_before  timestamptz := reaper.clock() - p_older_than;
    v_pruned  integer := 0;
    v_rows    integer;
begin
    delete from reaper.runs r
     where r.run_id = any (array(select o.run_id from reaper.runs o where o.finished_at < v_before order by o.run_id limit p_limit));
    get diagnostics v_rows = row_count;
    v_pruned := v_pruned + v_rows;
    delete from reaper.drift d
     where d.drift_id = any (array(select o.drift_id from reaper.drift o where o.noticed_at < v_before order by o.drift_id limit p_limit));
    get diagnostics v_rows = row_count;
    v_pruned := v_pruned + v_rows;
    delete from reaper.job_errors e
     where e.error_id = any (array(select o.error_id from reaper.job_errors o where o.at < v_before order by o.error_id limit p_limit));
    get diagnostics v_rows = row_count;
    v_pruned := v_pruned + v_rows;
    update reaper.runs r
       set short_codes = null, content_hashes = null
     where r.run_id = any (array(select o.run_id
                                   from reaper.runs o
                                  where o.short_codes is not null
                                    and o.finished_at <= reaper.clock() - (select s.keep_codes from reaper.settings s)
                                  order by o.finished_at
                                  limit p_limit));
    get diagnostics v_rows = row_count;
    return v_pruned + v_rows;
end;
$$;
comment on function reaper.prune_history(interval, integer) is
    'Deletes up to p_limit rows each of reaper.runs, reaper.drift and reaper.job_errors that are older than p_older_than, and clears codes and hashes of up to p_limit '
    'runs older than settings.keep_codes; returns how many rows it changed.';
revoke all on function reaper.prune_history(interval, integer) from public;
grant execute on function reaper.prune_history(interval, integer) to reaper_worker, reaper_ops;
