-- Drops the tables of notifications if no webhook exists; what was delivered, and states that were told, are not counted as a loss.
-- locks: these tables ACCESS EXCLUSIVE, for moments
-- guarded: true
do $$
declare
    v_loss text := (select string_agg(format('%s %s', l.rows, l.what), ', ')
                      from (values ((select count(*) from reaper.webhooks), 'webhooks'),
                                   ((select count(*) from reaper.notification_outbox o where o.delivered_at is null), 'undelivered events'),
                                   ((select count(*) from reaper.delivery_dlq), 'deliveries in the DLQ')) as l (rows, what)
                     where l.rows > 0);
begin
    if v_loss is not null then
        raise exception sqlstate 'RP007' using
            message = format('dropping the notifications would lose %s', v_loss),
            hint    = 'Note the webhooks (reaper webhook list --json), remove them with their events (reaper webhook remove NAME), then roll back.';
    end if;
end;
$$;
-- reaper migrate drops the functions first; yoyo would take the tables away under them.
do $$
begin
    if exists (select from reaper.code_files) then
        raise exception sqlstate 'RP007' using
            message = 'functions of schema reaper are loaded that need these tables',
            hint    = 'Roll back with: reaper migrate --to ID (or base); it drops the functions first.';
    end if;
end;
$$;
drop table reaper.notified_states;
drop table reaper.delivery_dlq;
drop table reaper.notification_outbox;
drop table reaper.webhook_subscriptions;
drop table reaper.webhooks;
