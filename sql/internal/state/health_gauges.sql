-- health_gauges: the verdict and the figures of reaper.health, which are counted up to 100,000.
create or replace function reaper_internal.health_gauges(p_now timestamptz)
    returns setof jsonb
    language plpgsql stable
as $$
declare
    v_health  record;
    v_ages    record;
begin
    select * into v_health from reaper.health;
    select * into v_ages from reaper_internal.due_ages(p_now);
    return query
        select reaper_internal.gauge('due_rows', coalesce(v_health.due_rows, 0))
        union all
        select reaper_internal.gauge('oldest_due_age_seconds', reaper_internal.seconds_since(p_now, v_health.oldest_due))
        union all
        select reaper_internal.gauge('expiry_lag_seconds', v_ages.p50, '{"quantile": "0.5"}')
        union all
        select reaper_internal.gauge('expiry_lag_seconds', v_ages.p99, '{"quantile": "0.99"}')
        union all
        select reaper_internal.gauge('verdict', (v.name = v_health.verdict)::integer, jsonb_build_object('verdict', v.name))
          from unnest('{ok,paused,attention,behind,stalled}'::text[]) as v (name)
        union all
        select reaper_internal.gauge('batches_in_flight', v_health.batches_claimed, '{"state": "CLAIMED"}')
        union all
        select reaper_internal.gauge('batches_in_flight', v_health.batches_released, '{"state": "RELEASED"}')
        union all
        select reaper_internal.gauge('batches_stuck', v_health.batches_stuck)
        union all
        select reaper_internal.gauge('workers_alive', v_health.workers_alive)
        union all
        select reaper_internal.gauge('blocked_rows', v_health.rows_blocked)
        union all
        select reaper_internal.gauge('cleanup_queue_objects', v_health.objects_queued)
        union all
        select reaper_internal.gauge('invalidations_queued', v_health.invalidations_queued);
end;
$$;
comment on function reaper_internal.health_gauges(timestamptz) is
    'For refresh_state: verdict, due rows and their age, batches, workers, blocked rows, queues.';
revoke all on function reaper_internal.health_gauges(timestamptz) from public;
