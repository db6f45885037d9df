-- purge_aged: delete one bounded batch of a policy's oldest rows.
-- Safe with any number of callers: rows that other transactions hold are skipped, so no caller waits for a row or deletes one twice.
-- The plan is pinned (index order, keyed access), so a batch costs the same whatever the size and statistics of the table.
create or replace function reaper.purge_aged(p_policy text, p_limit integer default null, p_despite_pause boolean default false)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set timezone = 'UTC'
    set lock_timeout = '2s'
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_hashjoin = off
    set enable_mergejoin = off
    set enable_sort = off
    set jit = off
as $$
declare
    v_policy  reaper.retention_policies := reaper_internal.require_known_policy(p_policy);
    v_limit   integer     := coalesce(p_limit, v_policy.batch_limit);
    v_now     timestamptz := reaper.clock();
    v_began   timestamptz := clock_timestamp();
    v_deleted integer;
begin
    perform reaper_internal.require_read_committed();
    if v_limit not between 1 and 10000 then
        perform reaper_internal.require_no_problems(p_policy, array[format('invalid limit: %s', v_limit)], array['Give a limit from 1 to 10000.']);
    end if;
    if not v_policy.enabled then
        return 0;
    end if;
    if p_despite_pause is not true then
        perform reaper_internal.require_no_pause('policy:' || p_policy,
            format('Resume it (select reaper.resume(%L);), or delete all the same with p_despite_pause => true.', 'policy:' || p_policy));
    end if;

    perform reaper_internal.lock_policy_table(p_policy);
    execute reaper_internal.purge_statement(v_policy.table_oid, v_policy.column_name) using v_now - v_policy.max_age, v_limit;
    get diagnostics v_deleted = row_count;
    perform reaper_internal.record_purge(p_policy, v_deleted, v_now, clock_timestamp() - v_began);
    return v_deleted;
end;
$$;
comment on function reaper.purge_aged(text, integer, boolean) is
    'Deletes up to p_limit (else the policy''s batch_limit) of the oldest rows that are older than the policy''s max_age, and returns how many; 0 for a policy that is not enabled. '
    'If it returns the limit there may be more. Refuses (RP005) if the table is no longer the one that was registered, and (RP011) while its service policy:NAME is paused, unless p_despite_pause.';
revoke all on function reaper.purge_aged(text, integer, boolean) from public;
grant execute on function reaper.purge_aged(text, integer, boolean) to reaper_worker, reaper_ops;
