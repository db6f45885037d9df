-- emit: tell of an event, in the transaction in which it happens: the rows of the outbox commit with it, or not at all. One row for each
-- webhook that has subscribed, none without; only rows are inserted, so it takes no lock that others wait for.
create or replace function reaper_internal.emit(p_type text, p_subject text, p_data jsonb)
    returns void
    language plpgsql volatile
as $$
declare
    v_now    timestamptz := reaper.clock();
    v_event  uuid        := gen_random_uuid();
begin
    insert into reaper.notification_outbox (webhook_id, event_id, type, subject, data, occurred_at, queued_at, next_attempt)
    select s.webhook_id, v_event, p_type, p_subject, p_data, v_now, v_now, v_now
      from reaper.webhook_subscriptions s
     where s.pattern = any (reaper_internal.matching_patterns(p_type))
     group by s.webhook_id;
end;
$$;
comment on function reaper_internal.emit(text, text, jsonb) is
    'Queues an event for every webhook that has subscribed to it, as part of the calling transaction. p_type: one of event_types(); p_data: as the JSON schema of that event says.';
revoke all on function reaper_internal.emit(text, text, jsonb) from public;
