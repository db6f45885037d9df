-- set_lane: record how a webhook's lane stands after a report. An endpoint in trouble, and one that refused three events in a row, is left in
-- peace: 5 seconds at first, up to 6 hours, or for as long as it asked (Retry-After). One success opens the lane again.
create or replace function reaper_internal.set_lane(p_webhook_id bigint, p_results jsonb, p_now timestamptz)
    returns reaper.webhooks
    language plpgsql volatile
as $$
declare
    v_webhook  reaper.webhooks;
    v_success  bigint;
    v_failed   integer;
    v_error    text;
    v_outage   boolean;
    v_wait     interval;
begin
    select max(r.place) filter (where r.error is null) into v_success from reaper_internal.delivery_results(p_results) as r;
    select count(*), (array_agg(r.error order by r.place desc))[1], coalesce(bool_or(r.outage), false), coalesce(max(r.wait) filter (where r.outage), '0')
      into v_failed, v_error, v_outage, v_wait
      from reaper_internal.delivery_results(p_results) as r
     where r.place > coalesce(v_success, 0);
    update reaper.webhooks w
       set failures          = case when v_success is null then w.failures else 0 end + v_failed,
           failing_since     = case when v_failed = 0 then null when v_success is null then coalesce(w.failing_since, p_now) else p_now end,
           last_error        = v_error,
           last_delivered_at = case when v_success is null then w.last_delivered_at else p_now end,
           held_reason       = null,
           held_until        = null
     where w.webhook_id = p_webhook_id
    returning w.* into v_webhook;
    update reaper.webhooks w
       set held_until = p_now + greatest(reaper_internal.delivery_pause(case when v_outage then v_webhook.failures else v_webhook.failures - 2 end), v_wait)
     where w.webhook_id = p_webhook_id and v_failed > 0 and (v_outage or v_webhook.failures >= 3);
    return v_webhook;
end;
$$;
comment on function reaper_internal.set_lane(bigint, jsonb, timestamptz) is
    'For finish_deliveries: counts failures in a row and holds the lane of an endpoint that is in trouble; returns the webhook.';
revoke all on function reaper_internal.set_lane(bigint, jsonb, timestamptz) from public;
