-- queue_gauges: the DLQ by cause and the puts in progress, counted up to 100,000; stored copies by the statistics of their table.
create or replace function reaper_internal.queue_gauges()
    returns setof jsonb
    language sql stable
as $$
    select reaper_internal.gauge('dlq_objects', count(*), jsonb_build_object('cause', d.cause))
      from (select q.cause from reaper.cleanup_dlq q limit 100000) as d
     group by d.cause
    union all
    -- A series that is always there: an alert on the sum resolves when the last entry is settled.
    select reaper_internal.gauge('dlq_objects', 0, '{"cause": "other"}')
     where not exists (select from (select q.cause from reaper.cleanup_dlq q limit 100000) as d where d.cause = 'other')
    union all
    select reaper_internal.gauge('put_intents', count(*)) from (select from reaper.put_intents limit 100000) as i
    union all
    select reaper_internal.gauge('objects', greatest(c.reltuples, 0)::numeric)
      from pg_catalog.pg_class c
     where c.oid = 'reaper.object_locations'::regclass;
$$;
comment on function reaper_internal.queue_gauges() is
    'For refresh_state: DLQ by cause, puts in progress, and the estimated number of recorded copies.';
revoke all on function reaper_internal.queue_gauges() from public;
