-- diagnose_own_tables: are all indexes, keys and single rows there that the migrations created in schema reaper? One row per check.
create or replace function reaper.diagnose_own_tables()
    returns table (name text, verdict text, detail text, fix text)
    language sql stable security definer
    set search_path = pg_catalog, reaper, pg_temp
as $$
    with wanted (tab, index) as (
        values ('copy_excess', 'copy_excess_due'), ('copy_intents', 'copy_intents_content'), ('copy_intents', 'copy_intents_lease'),
               ('copy_intents', 'copy_intents_lease_until'), ('copy_intents', 'copy_intents_object_key'), ('copy_wants', 'copy_wants_due'),
               ('byte_deltas', 'byte_deltas_backend'), ('cleanup_dlq', 'cleanup_dlq_cause'), ('cleanup_dlq', 'cleanup_dlq_object_key'),
               ('cleanup_queue', 'cleanup_queue_due_by_backend'), ('cleanup_queue', 'cleanup_queue_lease'),
               ('cleanup_queue', 'cleanup_queue_object_key'), ('invalidations', 'invalidations_due'), ('job_errors', 'job_errors_job'),
               ('object_locations', 'object_locations_object_key'), ('object_locations', 'object_locations_trouble'), ('put_intents', 'put_intents_due'),
               ('put_intents', 'put_intents_object_key'), ('runs', 'runs_finished'), ('runs', 'runs_with_codes'),
               ('services', 'services_service_key_key'), ('sightings', 'sightings_age'), ('sightings', 'sightings_retired'),
               ('usage_flushes', 'usage_flushes_flushed_at'), ('usage_processes', 'usage_processes_folded'), ('usage_processes', 'usage_processes_open'),
               ('delivery_dlq', 'delivery_dlq_buried'), ('delivery_dlq', 'delivery_dlq_webhook'), ('notification_outbox', 'notification_outbox_delivered'),
               ('notification_outbox', 'notification_outbox_lane'), ('notification_outbox', 'notification_outbox_lease'),
               ('notification_outbox', 'notification_outbox_occurred'), ('webhooks', 'webhooks_name')
    ), lost as (
        select w.index
          from wanted w
         where not exists (select from pg_index i where i.indexrelid = to_regclass('reaper.' || w.index) and i.indrelid = to_regclass('reaper.' || w.tab))
        union all
        select 'primary key of ' || c.relname
          from pg_class c
         where c.relnamespace = 'reaper'::regnamespace and c.relkind = 'r'
           and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)
    ), emptied as (
        select 'settings' as tab where not exists (select from reaper.settings)
        union all
        select 'stray_scan' where not exists (select from reaper.stray_scan)
        union all
        select 'unreferenced_scan' where not exists (select from reaper.unreferenced_scan)
        union all
        select 'copy_sweep' where not exists (select from reaper.copy_sweep)
        union all
        select 'state_snapshot' where not exists (select from reaper.state_snapshot)
    )
    select 'indexes of reaper', case when count(*) = 0 then 'ok' else 'fail' end,
           coalesce('missing: ' || string_agg(l.index, ', ' order by l.index), 'none is missing'),
           'Create it as in migrations/: without it rows are written twice, or whole tables are read.'
      from lost l
    union all
    select 'required rows', case when count(*) = 0 then 'ok' else 'fail' end,
           coalesce('missing in ' || string_agg('reaper.' || e.tab, ', '), 'none is missing'),
           'Run as the owner: insert into … default values. Without the row the watchdog and puts do nothing.'
      from emptied e;
$$;
comment on function reaper.diagnose_own_tables() is
    'Checks the indexes, keys and single rows that the migrations created in schema reaper: ok, warn or fail, and how to fix it.';
revoke all on function reaper.diagnose_own_tables() from public;
grant execute on function reaper.diagnose_own_tables() to reaper_worker, reaper_ops, reaper_ro;
