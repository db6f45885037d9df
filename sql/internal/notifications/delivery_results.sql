-- delivery_results: the report of finish_deliveries as rows, in its order. A row without an error was delivered. An endpoint may ask for a
-- pause of up to a day.
create or replace function reaper_internal.delivery_results(p_results jsonb)
    returns table (place bigint, outbox_id bigint, status integer, error text, outage boolean, gone boolean, wait interval)
    language sql immutable
as $$
    select r.place, (r.result ->> 'outbox_id')::bigint, (r.result ->> 'status')::integer, left(r.result ->> 'error', 1000),
           coalesce((r.result ->> 'outage')::boolean, false), coalesce((r.result ->> 'gone')::boolean, false),
           least(greatest(coalesce((r.result ->> 'retry_after')::numeric, 0), 0), 86400)::float8 * interval '1 second'
      from jsonb_array_elements(p_results) with ordinality as r (result, place);
$$;
comment on function reaper_internal.delivery_results(jsonb) is
    'The report of finish_deliveries as rows.';
revoke all on function reaper_internal.delivery_results(jsonb) from public;
