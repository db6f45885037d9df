-- attention_reasons: what a person must look at although the drain is neither behind nor stalled; each sentence names the remedy. One small
-- function for each kind of trouble.
create or replace function reaper.attention_reasons()
    returns text[]
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    with now as materialized (
        select reaper.clock() as at
    )
    select array(
        select format('%s. %s', p.problem, p.fix) from reaper_internal.binding_problems() as p
        union all
        select p.problem from reaper.ownership_problems() as p (problem)
        union all
        select r.reason from now n cross join lateral reaper_internal.circuit_reasons(n.at) as r (reason)
        union all
        select r.reason from reaper_internal.copy_reasons() as r (reason)
        union all
        select r.reason from now n cross join lateral reaper_internal.degraded_reasons(n.at) as r (reason)
        union all
        select r.reason from now n cross join lateral reaper_internal.unplanned_service_reasons(n.at) as r (reason)
        union all
        select r.reason from now n cross join lateral reaper_internal.failing_service_reasons(n.at) as r (reason)
        union all
        select r.reason from now n cross join lateral reaper_internal.overdue_service_reasons(n.at) as r (reason)
        union all
        select r.reason from now n cross join lateral reaper_internal.wedged_job_reasons(n.at) as r (reason)
        union all
        select r.reason from now n cross join lateral reaper_internal.stuck_batch_reasons(n.at) as r (reason)
        union all
        select r.reason from now n cross join lateral reaper_internal.dlq_reasons(n.at) as r (reason)
        union all
        select r.reason from now n cross join lateral reaper_internal.blocked_reasons(n.at) as r (reason)
        union all
        select r.reason from now n cross join lateral reaper_internal.webhook_reasons(n.at) as r (reason)
        union all
        select r.reason from now n cross join lateral reaper_internal.clock_reasons(n.at) as r (reason)
        union all
        select r.reason from reaper_internal.integrity_reasons() as r (reason)
        union all
        select r.reason from reaper_internal.connection_reasons() as r (reason)
        union all
        select r.reason from reaper_internal.foreign_lock_reasons() as r (reason));
$$;
comment on function reaper.attention_reasons() is
    'Sentences that say what needs attention and what to do about it, for the view reaper.health; empty if nothing does.';
revoke all on function reaper.attention_reasons() from public;
grant execute on function reaper.attention_reasons() to reaper_worker, reaper_ops, reaper_ro;
