-- require_deliveries: lock the rows that a lease reports, or raise RP001 if it holds one of them no more: it expired and another process has
-- leased them, or the webhook was removed. Then nothing of the report is recorded, and the event may be sent twice.
create or replace function reaper_internal.require_deliveries(p_webhook_id bigint, p_lease uuid, p_outbox_ids bigint[])
    returns void
    language plpgsql volatile
as $$
declare
    v_held bigint[] := array(
        select o.outbox_id
          from reaper.notification_outbox o
         where o.outbox_id = any (p_outbox_ids) and o.webhook_id = p_webhook_id and o.lease = p_lease
         order by o.outbox_id
           for update);
begin
    if not p_outbox_ids <@ v_held then
        perform nextval('reaper.refusals');
        raise exception sqlstate 'RP001' using
            message = format('lease %s is no longer held', coalesce(p_lease::text, '(null)')),
            hint    = 'Skip it and continue: another process has leased these deliveries since, or the webhook was removed.';
    end if;
end;
$$;
comment on function reaper_internal.require_deliveries(bigint, uuid, bigint[]) is
    'For finish_deliveries: locks the reported rows; RP001, counted in reaper.refusals, if the lease does not hold all of them.';
revoke all on function reaper_internal.require_deliveries(bigint, uuid, bigint[]) from public;
