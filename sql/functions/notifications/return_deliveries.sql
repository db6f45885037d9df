-- return_deliveries: give back what a lease has not sent, at no attempt. With a reason why nothing can be sent from here (a missing secret, an
-- address that is refused) the lane is held for a minute: then any process may try. A lost lease gives nothing back and holds nothing.
create or replace function reaper.return_deliveries(p_webhook_id bigint, p_lease uuid, p_held_reason text default null)
    returns integer
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
declare
    v_now       timestamptz := reaper.clock();
    v_returned  integer;
begin
    perform from reaper.webhooks w where w.webhook_id = p_webhook_id for no key update;
    update reaper.notification_outbox o
       set lease = null, next_attempt = v_now
     where o.webhook_id = p_webhook_id and o.lease = p_lease;
    get diagnostics v_returned = row_count;
    update reaper.webhooks w
       set held_until = v_now + interval '1 minute', held_reason = left(p_held_reason, 1000)
     where w.webhook_id = p_webhook_id and p_held_reason is not null and v_returned > 0;
    return v_returned;
end;
$$;
comment on function reaper.return_deliveries(bigint, uuid, text) is
    'Gives the rest of a lease back, unsent, and counts no attempt; p_held_reason: why nothing can be sent, which holds the lane for a minute. Returns how many.';
revoke all on function reaper.return_deliveries(bigint, uuid, text) from public;
grant execute on function reaper.return_deliveries(bigint, uuid, text) to reaper_worker, reaper_ops;
