-- finish_deliveries: record how sending ended, in one transaction with what follows from it: the next attempt, the lane's pause, the DLQ after
-- three days, the end of a webhook whose endpoint is gone. Only the holder of the lease records anything.
create or replace function reaper.finish_deliveries(p_webhook_id bigint, p_lease uuid, p_results jsonb)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_now      timestamptz := reaper.clock();
    v_ids      bigint[];
    v_webhook  reaper.webhooks;
    v_gone     text;
begin
    perform from reaper.webhooks w where w.webhook_id = p_webhook_id for no key update;
    v_ids := array(select r.outbox_id from reaper_internal.delivery_results(p_results) as r);
    perform reaper_internal.require_deliveries(p_webhook_id, p_lease, v_ids);

    update reaper.notification_outbox o
       set lease = null, attempts = o.attempts + 1, first_attempt_at = coalesce(o.first_attempt_at, v_now),
           last_status = r.status, last_error = null, delivered_at = v_now
      from reaper_internal.delivery_results(p_results) as r
     where o.outbox_id = r.outbox_id and r.error is null;
    perform reaper_internal.postpone_deliveries(p_results, v_now);
    v_webhook := reaper_internal.set_lane(p_webhook_id, p_results, v_now);
    perform reaper_internal.move_deliveries_to_dlq(v_webhook, v_ids, v_now);

    select max(r.error) into v_gone from reaper_internal.delivery_results(p_results) as r where r.gone;
    if v_gone is not null then
        perform reaper_internal.close_webhook(p_webhook_id, v_gone);
    end if;
    return (select count(*) from reaper_internal.delivery_results(p_results) as r where r.error is null);
end;
$$;
comment on function reaper.finish_deliveries(bigint, uuid, jsonb) is
    'Records deliveries of a lease: [{"outbox_id", "status", "error", "outage", "gone", "retry_after"}] in the order in which they were sent; without an error one was accepted. outage: the endpoint is in trouble, and the lane waits; gone: it disables the webhook; retry_after: seconds. RP001, and nothing is recorded, if the lease does not hold all of them. Returns how many were delivered.';
revoke all on function reaper.finish_deliveries(bigint, uuid, jsonb) from public;
grant execute on function reaper.finish_deliveries(bigint, uuid, jsonb) to reaper_worker, reaper_ops;
