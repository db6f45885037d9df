-- event_types: the names of all events, without io.reaper. Each has a JSON schema in the package.
create or replace function reaper_internal.event_types()
    returns text[]
    language sql immutable
as $$
    select array['backend.drained', 'backend.nearly_full', 'batch.released', 'circuit.closed', 'circuit.opened', 'cleanup.exhausted',
                 'copy.corrupt', 'copy.missing', 'copy.repaired', 'drain.finished', 'lifecycle.finished', 'reconcile.braked',
                 'reconcile.finished', 'replication.stuck', 'service.failing', 'service.recovered', 'verdict.changed', 'webhook.disabled',
                 'webhook.test'];
$$;
comment on function reaper_internal.event_types() is
    'The names of all events, without io.reaper.';
revoke all on function reaper_internal.event_types() from public;
