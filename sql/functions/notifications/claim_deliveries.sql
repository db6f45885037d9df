-- claim_deliveries: lease the next events of a webhook, in their order. One process at a time has a webhook's lane: while one of its rows is
-- leased, no other process gets any. A lease lasts two minutes, and its token keeps a late process from recording anything.
create or replace function reaper.claim_deliveries(p_webhook_id bigint, p_limit integer default 100)
    returns table (
        lease uuid, url text, secret_env text, previous_secret_env text, source uuid,
        outbox_id bigint, event_id uuid, type text, subject text, data jsonb, occurred_at timestamptz
    )
    language plpgsql volatile security definer
    set search_path = pg_catalog, reaper, pg_temp
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
#variable_conflict use_column
declare
    v_now      timestamptz := reaper.clock();
    v_lease    uuid        := gen_random_uuid();
    v_source   uuid        := (select i.installation_id from reaper.installation i);
    v_webhook  reaper.webhooks;
begin
    perform reaper_internal.require_limit(p_limit);
    select * into v_webhook
      from reaper.webhooks w
     where w.webhook_id = p_webhook_id and w.enabled and coalesce(w.held_until <= v_now, true)
       for no key update skip locked;
    if not found or exists (select from reaper.notification_outbox o
                             where o.webhook_id = p_webhook_id and o.lease is not null
                               and o.next_attempt > v_now and o.next_attempt <= v_now + interval '2 minutes') then
        return;
    end if;
    return query
        with leased as (
            update reaper.notification_outbox o
               set lease = v_lease, next_attempt = v_now + interval '2 minutes'
             where o.outbox_id = any (array(
                select d.outbox_id
                  from reaper.notification_outbox d
                 where d.webhook_id = p_webhook_id and d.delivered_at is null
                   and (d.next_attempt <= v_now or d.lease is not null)
                 order by d.outbox_id
                 limit p_limit
                   for update skip locked))
            returning o.*
        )
        select v_lease, v_webhook.url, v_webhook.secret_env, v_webhook.previous_secret_env, v_source,
               l.outbox_id, l.event_id, l.type, l.subject, l.data, l.occurred_at
          from leased l
         order by l.outbox_id;
end;
$$;
comment on function reaper.claim_deliveries(bigint, integer) is
    'Leases up to p_limit events of a webhook that are due, oldest first; none while another process holds its lane, while the lane is held, or the webhook is disabled. Send them one after the other, report them with finish_deliveries, then call return_deliveries.';
revoke all on function reaper.claim_deliveries(bigint, integer) from public;
grant execute on function reaper.claim_deliveries(bigint, integer) to reaper_worker, reaper_ops;
